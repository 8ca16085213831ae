#include "ops/confined.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/denied.h"
#include "ops/policyfile.h"
#include "sandbox/message.h"

#define SUMMARY_MS 1000 /* for the warden to handle what has happened */

/* ------------------------------------------------------------------- reading */

/* A number names a descriptor of this process, anything else a file. */
static int open_denials(const char *where, struct err *err)
{
	char *end;
	long number = strtol(where, &end, 10);

	if (!*end && number >= 0 && number <= INT_MAX) {
		int fd = fcntl((int)number, F_DUPFD_CLOEXEC, 0);

		return fd < 0 ? err_errno(err, "--denials: descriptor %ld", number) : fd;
	}
	int fd = at_open_given(where, O_WRONLY | O_CREAT | O_APPEND, 0644, err);
	return fd < 0 ? err_context(err, "--denials") : fd;
}

int confined_read(
	const struct exec_place *place, struct arena *arena, struct confined *out, struct err *err)
{
	if (!place->policy)
		return place->denials ? err_set(err, ERR_USAGE, "--denials goes with --policy") : 0;
	if (policyfile_read(place->policy, arena, &out->policy, err) < 0)
		return -(int)err->code;
	if (out->policy.trust == POLICY_TRUST_FORBID)
		return 0;
	out->orders = (struct warden_orders){
		.policy = &out->policy,
		.workspace = place->cwd ? place->cwd : "/",
		.user = place->user,
		.sinks = { -1, -1, -1 },
		.grants = -1,
		.report = -1,
	};
	out->denials = place->denials ? open_denials(place->denials, err) : -1;
	return place->denials && out->denials < 0 ? out->denials : 1;
}

/* --------------------------------------------------------------- preparation */

static int memory_file(const char *name, struct err *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? err_errno(err, "make a file in memory") : fd;
}

int confined_prepare(struct confined *confined, struct env *env, const struct sandbox *sandbox,
	struct commandspace_plan *plan, struct err *err)
{
	struct warden_orders *orders = &confined->orders;

	confined->told = memory_file("strata-denials", err);
	orders->report = confined->told < 0 ? -1 : memory_file("strata-report", err);
	if (orders->report < 0)
		return -(int)err->code;
	confined->collected = denied_open(env, err);
	if (confined->collected < 0)
		return confined->collected;
	orders->sinks[0] = confined->denials;
	orders->sinks[1] = confined->told;
	orders->sinks[2] = confined->collected;
	orders->holder = sandbox->fds[SANDBOX_HOLDER];
	orders->proc = at_open(sandbox->fds[SANDBOX_ROOT], "proc", O_RDONLY | O_DIRECTORY, err);
	if (orders->proc < 0)
		return orders->proc;
	confined->warden = warden_new(orders);
	warden_plan(confined->warden, plan);
	return 0;
}

/* --------------------------------------------------------------- restriction */

static const char *const *add_variables(
	const char *const *env, const struct warden_findings *findings, struct arena *arena)
{
	const struct policy_list *set = &findings->policy.env.set;
	size_t n = 0;

	while (env[n])
		n++;
	const char **all =
		arena_alloc(arena, (n + set->n + findings->variables.count + 1) * sizeof(*all));
	memcpy(all, env, n * sizeof(*all));
	for (size_t i = 0; i < set->n; i++)
		all[n++] = set->list[i];
	for (size_t i = 0; i < findings->variables.count; i++)
		all[n++] = findings->variables.list[i];
	return all;
}

static void limit_time(const struct policy *policy, struct sandbox_command *command)
{
	int64_t ms = policy->limits.wall_time_secs * 1000;

	if (ms && (!command->timeout_ms || ms < command->timeout_ms))
		command->timeout_ms = ms;
}

int confined_restrict(struct confined *confined, struct arena *arena,
	struct sandbox_command *command, struct err *err)
{
	struct warden_findings *findings = &confined->findings;
	owned(buf_release) struct buf lacks = BUF_INIT;

	if (warden_findings(&confined->orders, arena, findings, err) < 0)
		return -(int)err->code;
	planning_restrict(&findings->planning, arena, !command->wrapped, &confined->restriction);
	landlock_lacks(&confined->restriction.landlock, &lacks);
	if (lacks.len && findings->policy.trust == POLICY_TRUST_REQUIRE) {
		err_set(err, ERR_UNSUPPORTED, "the policy cannot be enforced here: %.*s",
			(int)strcspn(lacks.data, "\n"), lacks.data);
		return err_hint(err, "with \"trust\": \"auto\" the command runs without that");
	}
	buf_adds(&lacks, findings->lacks);
	findings->lacks = lacks.len ? arena_strdup(arena, lacks.data) : "";
	command->restriction = &confined->restriction;
	command->env = add_variables(command->env, findings, arena);
	limit_time(&findings->policy, command);
	return 0;
}

/* -------------------------------------------------------------------- ending */

void confined_finish(struct confined *confined, struct arena *arena,
	const struct commandspace *space, struct exec_result *result)
{
	char message = WARDEN_END;
	struct statx stx;

	if (!confined->warden || space->warden < 0)
		return;
	if (message_send(space->warden, &message, sizeof(message), NULL, 0) == 0)
		(void)message_receive(
			space->warden, &message, sizeof(message), NULL, 0, SUMMARY_MS);
	if (at_fd_stat(confined->told, &stx) < 0)
		return;
	char *text = arena_alloc(arena, stx.stx_size + 1);
	ssize_t n = at_pread_full(confined->told, text, stx.stx_size, 0);
	denied_read((struct str){ text, n > 0 ? (size_t)n : 0 }, arena, &result->denials,
		&result->n_denials);
}

void confined_release(struct confined *confined)
{
	warden_free(confined->warden);
	close_fd(&confined->told);
	close_fd(&confined->denials);
	close_fd(&confined->collected);
	if (confined->orders.policy) {
		close_fd(&confined->orders.report);
		close_fd(&confined->orders.proc);
	}
}
