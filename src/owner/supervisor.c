#include "owner/supervisor.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/lock.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/loop.h"
#include "owner/owner_priv.h"

/*
 * Returns the number of the last rollback of the workspace.  Any process may have made that
 * rollback.  head is set to the id of HEAD.
 */
static int64_t last_rollback(struct owner *owner, char head[NODE_ID])
{
	struct err ignored = { 0 };
	int64_t which = 0;
	struct env env;

	head[0] = '\0';
	if (owner_open_env(owner, &env, &ignored) < 0)
		return 0;
	(void)history_last_rollback(&env.history, env.row.name, &which, &ignored);
	memcpy(head, env.row.head, NODE_ID);
	env_close(&env);
	return which;
}

/* Whether an operation holds the lock of the workspace. */
static bool is_locked(struct owner *owner)
{
	char name[WORKSPACE_NAME_MAX + sizeof(ENV_LOCK)];
	struct err busy = { 0 };

	snprintf(name, sizeof(name), "%s" ENV_LOCK, owner->options->workspace);
	owned_fd int lock = lock_take(owner->run, name, LOCK_EXCLUSIVE, 0, "supervise", &busy);
	return lock < 0 && busy.code == ERR_BUSY;
}

/* --------------------------------------------------------- the end of the agent */

static int64_t member_int(const struct jsonread *result, const char *name)
{
	int64_t value = 0;

	if (result)
		(void)jsonread_get_int(result, name, &value);
	return value;
}

/* Whether a rollback has ended the agent. */
static bool was_rolled_back(struct supervisor *supervisor, const struct jsonread *result)
{
	char head[NODE_ID];

	if (result && member_int(result, "signal") != SIGKILL)
		return false;
	return last_rollback(supervisor->owner, head) != supervisor->rollback;
}

#define DENIALS_SAID_MAX 20

static void say_denial(struct owner *owner, const struct jsonread *denial)
{
	static const char *const keys[] = { "what", "subject", "rule", "remedy" };
	struct str texts[4] = { STR(""), STR(""), STR(""), STR("") };

	for (size_t i = 0; i < 4; i++)
		(void)jsonread_get_str(denial, keys[i], &texts[i]);
	owned(buf_release) struct buf subject = BUF_INIT;
	text_quote(&subject, texts[1]);
	owner_say(owner, "denied: %.*s %s (%.*s)%s%.*s", (int)texts[0].len, texts[0].ptr,
		subject.data, (int)texts[2].len, texts[2].ptr,
		texts[3].len ? "; to allow it, " : "", (int)texts[3].len, texts[3].ptr);
}

/* Print which accesses the policy has denied since the agent was started. */
static void report_denials(struct owner *owner, const struct jsonread *result)
{
	const struct jsonread *list = result ? jsonread_member(result, "denials") : NULL;
	size_t n = list ? jsonread_count(list) : 0;

	for (size_t i = 0; i < n && i < DENIALS_SAID_MAX; i++)
		say_denial(owner, jsonread_item(list, i));
	if (n > DENIALS_SAID_MAX)
		owner_say(owner, "denied: %zu more", n - DENIALS_SAID_MAX);
}

static void report_end(
	struct owner *owner, const struct jsonread *result, const struct jsonread *error)
{
	struct str why = { 0 };

	if (error)
		(void)jsonread_get_str(error, "message", &why);
	else if (result)
		(void)jsonread_get_str(result, "error", &why);
	if (why.len)
		owner_say(owner, "%s", why.ptr);
	else if (!error && !result)
		owner_say(owner, "the process that ran the agent was killed");
	else if (!owner->supervisor.told && member_int(result, "signal") == SIGKILL)
		owner_say(owner, "the agent was killed, and not by a rollback");
}

static void on_agent_end(struct owner *owner, const struct jsonread *answer)
{
	struct supervisor *supervisor = &owner->supervisor;
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	const struct jsonread *error = answer ? jsonread_member(answer, "error") : NULL;

	supervisor->agent = NULL;
	report_denials(owner, result);
	if (!supervisor->told && was_rolled_back(supervisor, result)) {
		supervisor->killed = true;
		supervisor->said = false;
		supervisor->ended = when_monotonic();
		supervisor_restart_if_killed(supervisor);
		return;
	}
	report_end(owner, result, error);
	owner_stop(owner, result ? (int)member_int(result, "exit_status") : SANDBOX_FAILED);
}

/* ------------------------------------------------------- the start of the agent */

static int pause_before_start(struct supervisor *supervisor)
{
	int64_t now = when_monotonic();
	unsigned shift;

	if (now - supervisor->started > SUPERVISOR_SOON_NS)
		supervisor->in_a_row = 0;
	shift = supervisor->in_a_row++;
	if (!shift)
		return 0;
	return shift > 6 ? SUPERVISOR_PAUSE_MAX_MS : SUPERVISOR_PAUSE_MS << (shift - 1);
}

/* If the rollback is over, start the agent again, at once or after a pause. */
static void restart_after_rollback(struct supervisor *supervisor)
{
	struct owner *owner = supervisor->owner;
	char head[NODE_ID];

	if (is_locked(owner)) {
		if (!supervisor->said && when_monotonic() - supervisor->ended > SUPERVISOR_SAY_NS) {
			supervisor->said = true;
			owner_say(owner, "the agent is down: waiting for the rollback to end");
		}
		loop_set(supervisor->start, SUPERVISOR_POLL_MS);
		return;
	}
	supervisor->killed = false;
	capturer_forget_writers(&owner->capturer);
	(void)last_rollback(owner, head);
	int pause = pause_before_start(supervisor);
	if (pause)
		owner_say(owner, "rolled back to %s; the agent starts again in %d.%d s", head,
			pause / 1000, pause % 1000 / 100);
	else
		owner_say(owner, "rolled back to %s; the agent starts again", head);
	loop_set(supervisor->start, pause);
}

void supervisor_restart_if_killed(struct supervisor *supervisor)
{
	if (supervisor->killed && !supervisor->owner->stopping)
		loop_set(supervisor->start, 0);
}

static void start_agent(struct supervisor *supervisor)
{
	struct owner *owner = supervisor->owner;
	const struct supervise_request *agent = owner->options->request;
	struct exec_request request = {
		.argv = agent->argv,
		.place = agent->place,
		.no_commit = true,
	};
	struct call_plan plan = {
		.kind = CALL_AGENT, .op = &op_exec, .request = &request, .done = on_agent_end
	};
	char head[NODE_ID];
	struct err err = { 0 };

	if (supervisor->agent)
		return;
	supervisor->started = when_monotonic();
	supervisor->rollback = last_rollback(owner, head);
	if (call_start(owner, &plan, &supervisor->agent, &err) < 0) {
		owner_say(owner, "%s", err.text);
		owner_stop(owner, SANDBOX_FAILED);
	}
}

static void on_start_timer(void *arg)
{
	struct supervisor *supervisor = arg;

	if (supervisor->owner->stopping)
		return;
	if (supervisor->killed)
		restart_after_rollback(supervisor);
	else
		start_agent(supervisor);
}

/* -------------------------------------------------------------------- lifetime */

static void on_stop_timer(void *arg)
{
	struct supervisor *supervisor = arg;

	if (supervisor->agent)
		call_signal(supervisor->agent, SIGKILL);
}

void supervisor_start(struct supervisor *supervisor, struct owner *owner)
{
	*supervisor = (struct supervisor){ .owner = owner };
	supervisor->start = loop_timer(owner->loop, on_start_timer, supervisor);
	supervisor->stop = loop_timer(owner->loop, on_stop_timer, supervisor);
	if (owner->options->request->argv.count)
		start_agent(supervisor);
}

void supervisor_signal(struct supervisor *supervisor, int sig)
{
	if (!supervisor->agent) {
		owner_stop(supervisor->owner,
			supervisor->owner->options->request->argv.count ? 128 + sig : 0);
		return;
	}
	/* after a second signal to the owner, the agent is killed at once */
	if (supervisor->told)
		sig = SIGKILL;
	supervisor->told = sig;
	call_signal(supervisor->agent, sig);
	loop_set(supervisor->stop, SUPERVISOR_STOP_MS);
}

void supervisor_stop(struct supervisor *supervisor)
{
	loop_event_free(&supervisor->start);
	loop_event_free(&supervisor->stop);
}
