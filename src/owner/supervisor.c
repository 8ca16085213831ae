#include "owner/supervisor.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/loop.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/owner_priv.h"

static void launch(struct supervisor *supervisor);

/* The last rollback of the workspace, whoever did it. */
static int64_t last_rollback(struct owner *owner)
{
	struct err ignored = { 0 };
	int64_t which = 0;
	struct env env;

	if (owner_look(owner, &env, &ignored) < 0)
		return 0;
	(void)history_last_rollback(&env.history, env.row.name, &which, &ignored);
	env_close(&env);
	return which;
}

/* -------------------------------------------------------------------- its end */

static int64_t member_int(const struct jsonread *result, const char *name)
{
	int64_t value = 0;

	if (result)
		(void)jsonread_get_int(result, name, &value);
	return value;
}

/* Whether it was a rollback that ended it. */
static bool was_rolled_back(struct supervisor *supervisor, const struct jsonread *result)
{
	if (result && member_int(result, "signal") != SIGKILL)
		return false;
	return owner_is_writing(supervisor->owner) ||
	       last_rollback(supervisor->owner) != supervisor->rollback;
}

static void on_agent_end(struct owner *owner, const struct jsonread *answer)
{
	struct supervisor *supervisor = &owner->supervisor;
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	const struct jsonread *error = answer ? jsonread_member(answer, "error") : NULL;
	struct str why = { 0 };

	supervisor->agent = NULL;
	if (!supervisor->told && was_rolled_back(supervisor, result)) {
		supervisor->killed = true;
		supervisor_look(supervisor);
		return;
	}
	if (error)
		(void)jsonread_get_str(error, "message", &why);
	else if (result)
		(void)jsonread_get_str(result, "error", &why);
	if (why.len)
		owner_say(owner, "%s", why.ptr);
	owner_stop(owner, result ? (int)member_int(result, "exit_status") : SANDBOX_FAILED);
}

/* ------------------------------------------------------------------ its start */

static int pause_before(struct supervisor *supervisor)
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

void supervisor_look(struct supervisor *supervisor)
{
	if (!supervisor->killed || owner_is_writing(supervisor->owner) ||
		supervisor->owner->stopping)
		return;
	supervisor->killed = false;
	loop_set(supervisor->start, pause_before(supervisor));
}

static void on_start(void *arg)
{
	launch(arg);
}

static void launch(struct supervisor *supervisor)
{
	struct owner *owner = supervisor->owner;
	const struct owner_options *options = owner->options;
	struct exec_request request = {
		.argv = options->agent,
		.cwd = options->cwd,
		.env = options->env,
		.user = options->user,
		.net = options->net,
		.host_sockets = options->host_sockets,
		.bind = options->bind,
		.no_commit = true,
	};
	struct call_plan plan = {
		.kind = CALL_AGENT, .op = &op_exec, .request = &request, .done = on_agent_end
	};
	struct err err = { 0 };

	if (owner->stopping || supervisor->agent)
		return;
	supervisor->started = when_monotonic();
	supervisor->rollback = last_rollback(owner);
	if (call_start(owner, &plan, &supervisor->agent, &err) < 0) {
		owner_say(owner, "%s", err.text);
		owner_stop(owner, SANDBOX_FAILED);
	}
}

/* ------------------------------------------------------------------- its life */

static void on_stop(void *arg)
{
	struct supervisor *supervisor = arg;

	if (supervisor->agent)
		call_signal(supervisor->agent, SIGKILL);
}

void supervisor_start(struct supervisor *supervisor, struct owner *owner)
{
	*supervisor = (struct supervisor){ .owner = owner };
	supervisor->start = loop_timer(owner->loop, on_start, supervisor);
	supervisor->stop = loop_timer(owner->loop, on_stop, supervisor);
	if (owner->options->agent.count)
		launch(supervisor);
}

void supervisor_signal(struct supervisor *supervisor, int sig)
{
	if (!supervisor->agent) {
		owner_stop(
			supervisor->owner, supervisor->owner->options->agent.count ? 128 + sig : 0);
		return;
	}
	/* Who is told twice means it. */
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
