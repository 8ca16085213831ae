#include "ops/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "ops/denied.h"
#include "ops/policyfile.h"
#include "ops/variables.h"
#include "ops/wardens.h"
#include "sandbox/message.h"

#define SUMMARY_MS 1000 /* time for the warden to report the denials that it has seen */
#define TEXT_MAX ((size_t)4 << 20)

/* -------------------------------------------------------- reading the policy */

/*
 * Open the file or descriptor that gets the denials.  If 'where' is a number, it is a descriptor of
 * this process, and otherwise the path of a file.
 */
static int open_denials(const char *where, struct err *err)
{
	int number = param_text_descriptor(where);

	if (number >= 0) {
		int fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
		int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);

		if (fd >= 0 && ((flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)) {
			close_fd(&fd);
			return err_set(err, ERR_USAGE,
				"--denials: descriptor %d is not open for writing", number);
		}
		return fd < 0 ? err_errno(err, "--denials: descriptor %d", number) : fd;
	}
	int fd = at_open_given(where, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0600, err);
	return fd < 0 ? err_context(err, "--denials") : fd;
}

static int memory_file(const char *name, struct err *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? err_errno(err, "make a file in memory") : fd;
}

static int open_files(struct confined *out, struct err *err)
{
	out->told = memory_file("strata-denials", err);
	out->orders.report = out->told < 0 ? -1 : memory_file("strata-report", err);
	out->unenforced = out->orders.report < 0 ? -1 : memory_file("strata-unenforced", err);
	return out->unenforced < 0 ? -(int)err->code : 0;
}

static int read_place(const struct exec_place *place, struct arena *arena, struct exec_policy *out,
	struct err *err)
{
	out->denials = -1;
	if (policyfile_read(place->policy, arena, &out->policy, err) < 0)
		return -(int)err->code;
	out->denials = place->denials ? open_denials(place->denials, err) : -1;
	return place->denials && out->denials < 0 ? out->denials : 0;
}

int confined_ready(struct exec_place *place, struct arena *arena, struct err *err)
{
	struct exec_policy ready;

	if (!place->policy)
		return place->denials ? err_set(err, ERR_USAGE, "--denials goes with --policy") : 0;
	if (read_place(place, arena, &ready, err) < 0)
		return -(int)err->code;
	place->ready = arena_alloc(arena, sizeof(ready));
	*place->ready = ready;
	return 0;
}

/*
 * Narrow a policy by the other options of the command.  The options may allow less than the policy.
 */
static void narrow(const struct exec_place *place, struct policy *policy)
{
	if (place->net && !strcmp(place->net, "none"))
		policy->net.mode = POLICY_NET_NONE;
}

int confined_read(const struct exec_place *place, const struct param_texts *command,
	struct arena *arena, struct confined *out, struct err *err)
{
	struct exec_place own = *place;

	if (!own.ready && confined_ready(&own, arena, err) < 0)
		return -(int)err->code;
	if (!own.ready)
		return 0;
	out->policy = own.ready->policy;
	out->denials = own.ready->denials;
	out->active = out->policy.trust != POLICY_TRUST_FORBID;
	narrow(place, &out->policy);
	out->orders = (struct warden_orders){
		.policy = &out->policy,
		.workspace = place->cwd ? place->cwd : "/",
		.user = place->user,
		.sinks = { -1, -1, -1 },
		.group = &out->group,
		.stub_locks = -1,
		.stub_record = -1,
		.grants = &out->grants,
		.command = command,
		.proc = -1,
		.report = -1,
	};
	return open_files(out, err);
}

/* ------------------------------------------------------- preparing a command */

/*
 * Release everything that an earlier attempt has prepared.  A command is prepared a second time if
 * a rollback happened while the command was being started.
 */
static int start_over(struct confined *confined, struct err *err)
{
	const int files[] = { confined->told, confined->orders.report, confined->unenforced };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (ftruncate(files[i], 0) < 0 || lseek(files[i], 0, SEEK_SET) < 0)
			return err_errno(err, "empty a file in memory");
	warden_free(confined->warden);
	confined->warden = NULL;
	close_fd(&confined->collected);
	close_fd(&confined->joined);
	close_fd(&confined->stubs);
	close_fd(&confined->orders.proc);
	grantsocket_release(&confined->grants);
	resource_group_release(&confined->group);
	return 0;
}

static int listen_for_grants(struct confined *confined, struct env *env, struct err *err)
{
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	return run < 0 ? run : grantsocket_make(run, env->row.name, &confined->grants, err);
}

/*
 * Make a cgroup for the command's limits, if possible.  Without a cgroup, the warden checks from
 * time to time whether the processes exceed the limits.
 */
static void make_group(struct confined *confined, const struct sandbox *sandbox)
{
	struct resource_limits limits = planning_limits(&confined->policy);
	struct err lacking = { 0 };

	if (limits.memory_bytes || limits.tasks || limits.cpu_secs)
		(void)resource_group_make(
			sandbox->fds[SANDBOX_JOBS], &limits, &confined->group, &lacking);
}

int confined_prepare(struct confined *confined, struct env *env, const struct sandbox *sandbox,
	struct commandspace_plan *plan, struct err *err)
{
	struct warden_orders *orders = &confined->orders;

	if (start_over(confined, err) < 0)
		return -(int)err->code;
	confined->collected = denied_open(env, err);
	confined->joined = confined->collected < 0 ? -1 : wardens_join(env, err);
	if (confined->joined < 0 || listen_for_grants(confined, env, err) < 0)
		return -(int)err->code;
	if (plan->binds.n && (confined->stubs = wardens_record(env, err)) < 0)
		return confined->stubs;
	orders->sinks[0] = confined->denials;
	orders->sinks[1] = confined->told;
	orders->sinks[2] = confined->collected;
	orders->stub_locks = confined->joined;
	orders->stub_record = confined->stubs;
	orders->binds = &plan->binds;
	orders->holder = sandbox->fds[SANDBOX_HOLDER];
	orders->proc = at_open(sandbox->fds[SANDBOX_ROOT], "proc", O_RDONLY | O_DIRECTORY, err);
	if (orders->proc < 0)
		return orders->proc;
	make_group(confined, sandbox);
	confined->warden = warden_new(orders);
	warden_plan(confined->warden, plan);
	return 0;
}

/* ----------------------------------------------------- restricting a command */

static void set_variables(
	struct confined *confined, struct arena *arena, struct sandbox_command *command)
{
	const struct policy_list *set = &confined->findings.policy.env.set;
	struct param_texts add = { 0 };

	for (size_t i = 0; i < set->n; i++)
		param_texts_add(&add, arena, set->list[i]);
	for (size_t i = 0; i < confined->findings.variables.count; i++)
		param_texts_add(&add, arena, confined->findings.variables.list[i]);
	command->env = variables_merge(command->env, &add, arena);
}

static void set_limits(const struct policy *policy, struct sandbox_command *command)
{
	int64_t ms = planning_wall_secs(policy) * 1000;

	if (ms && (!command->timeout_ms || ms < command->timeout_ms))
		command->timeout_ms = ms;
	command->output_max = policy->limits.max_output_bytes;
}

static int check_trust(const struct confined *confined, const struct buf *lacks, struct err *err)
{
	if (!lacks->len || confined->policy.trust != POLICY_TRUST_REQUIRE)
		return 0;
	err_set(err, ERR_UNSUPPORTED, "the policy cannot be enforced here: %.*s",
		(int)strcspn(lacks->data, "\n"), lacks->data);
	return err_hint(err, "with \"trust\": \"auto\" the command runs without that");
}

int confined_restrict(struct confined *confined, struct arena *arena,
	struct sandbox_command *command, struct err *err)
{
	struct findings *findings = &confined->findings;
	owned(buf_release) struct buf lacks = BUF_INIT;

	/* The warden has its own copies of these descriptors by now. */
	close_fd(&confined->joined);
	close_fd(&confined->stubs);
	close_fd(&confined->grants.fd);
	if (findings_read(confined->orders.report, confined->orders.policy,
		    confined->orders.workspace, arena, findings, err) < 0)
		return -(int)err->code;
	planning_restrict(&findings->planning, arena, !command->wrapped, &confined->restriction);
	confined->restriction.group = confined->group.dir;
	landlock_lacks(&confined->restriction.landlock, &lacks);
	planning_lacks(&findings->policy, &confined->group, &lacks);
	if (check_trust(confined, &lacks, err) < 0)
		return -(int)err->code;
	buf_adds(&lacks, findings->lacks);
	(void)at_write_all(confined->unenforced, lacks.data ?: "", lacks.len);
	command->restriction = &confined->restriction;
	set_variables(confined, arena, command);
	set_limits(&findings->policy, command);
	return 0;
}

/* ----------------------------------------------------------- after a command */

/* Write to all sinks a denial that the warden does not know of. */
static void tell(const struct confined *confined, const char *what, const char *subject,
	const struct verdict *verdict)
{
	struct denials *denials = denials_new(-1);

	for (size_t i = 0; i < DENIALS_SINKS_MAX; i++)
		denials_add_sink(
			denials, confined->orders.sinks[i], i == 0 ? DENIALS_GIVEN : DENIALS_OWN);
	denials_add(denials, what, subject, verdict, 0);
	denials_free(denials);
}

/*
 * Limits that the warden does not enforce.  The strata process that runs the command enforces them.
 */
enum { LIMIT_TIME, LIMIT_OUTPUT, LIMITS };

static bool was_passed(
	const struct confined *confined, int limit, const struct sandbox_result *result)
{
	int64_t secs = planning_wall_secs(&confined->policy);

	if (limit == LIMIT_OUTPUT)
		return result->output_over;
	return result->timed_out && secs && result->timeout_ms == secs * 1000;
}

static void tell_limit(const struct confined *confined, int limit)
{
	static const char *const keys[LIMITS] = { "wall_time_secs", "max_output_bytes" };
	const struct policy_limits *limits = &confined->policy.limits;
	struct verdict verdict = { .allowed = false };
	char subject[64];

	if (limit == LIMIT_TIME)
		snprintf(subject, sizeof(subject), "more than %lld s",
			(long long)limits->wall_time_secs);
	else
		snprintf(subject, sizeof(subject), "more than %lld bytes of output",
			(long long)limits->max_output_bytes);
	snprintf(verdict.rule, sizeof(verdict.rule), "limits.%s", keys[limit]);
	snprintf(verdict.remedy, sizeof(verdict.remedy), "raise limits.%s", keys[limit]);
	tell(confined, "limit", subject, &verdict);
}

/*
 * If the warden was killed or has failed, report its loss and return true.  By then, the holder
 * (sandbox/guarded.h) has already killed the programs of the command.  If the warden ended
 * normally, for example together with the sandbox, return false.
 */
static bool tell_loss(const struct confined *confined, pid_t warden)
{
	struct verdict verdict = { .allowed = false };
	int status = child_wait(warden);
	char subject[64];

	if (!status)
		return false;
	if (WIFSIGNALED(status))
		snprintf(subject, sizeof(subject), "killed by signal %d", WTERMSIG(status));
	else
		snprintf(subject, sizeof(subject), "ended with status %d", WEXITSTATUS(status));
	snprintf(verdict.rule, sizeof(verdict.rule), DENIALS_WARDEN_RULE);
	tell(confined, DENIALS_WARDEN, subject, &verdict);
	/* Otherwise the next command would find the socket, and report the loss again. */
	grantsocket_remove(&confined->grants);
	return true;
}

bool confined_settle(
	struct confined *confined, struct commandspace *space, const struct sandbox_result *result)
{
	char message = WARDEN_END;

	if (!confined->warden || space->warden < 0)
		return true;
	for (int limit = 0; limit < LIMITS; limit++) {
		if (!was_passed(confined, limit, result))
			continue;
		tell_limit(confined, limit);
		message = WARDEN_KILL;
	}
	close_fd(&space->mnt);
	int r = message_send(space->warden, &message, sizeof(message), NULL, 0);
	if (r == 0)
		r = message_receive(space->warden, &message, sizeof(message), NULL, 0, SUMMARY_MS);
	return r > 0 || r == -ETIMEDOUT || !tell_loss(confined, space->pid);
}

int confined_remove_stubs(struct confined *confined, struct env *env, const struct sandbox *sandbox,
	const struct bindspecs *binds, struct err *err)
{
	struct warden_orders *orders = &confined->orders;
	struct commandspace_plan plan = { .binds = *binds };
	struct commandspace space = COMMANDSPACE_INIT;
	owned_fd int locks = wardens_join(env, err);

	if (locks < 0)
		return locks;
	orders->stub_locks = locks;
	orders->stub_record = -1;
	warden_free(confined->warden);
	confined->warden = warden_new(orders);
	warden_plan_removal(confined->warden, &plan);
	int r = commandspace_make(sandbox, &plan, &space, err);
	pid_t pid = space.pid;
	commandspace_release(&space);
	if (r >= 0)
		(void)child_wait(pid);
	return r;
}

/* Read a file in memory into arena. */
static struct str read_text(int fd, struct arena *arena)
{
	struct statx stx;

	if (fd < 0 || at_fd_stat(fd, &stx) < 0 || !stx.stx_size)
		return STR("");
	size_t size = stx.stx_size < TEXT_MAX ? stx.stx_size : TEXT_MAX;
	char *text = arena_alloc(arena, size + 1);
	ssize_t n = at_pread_full(fd, text, size, 0);
	return (struct str){ text, n > 0 ? (size_t)n : 0 };
}

void confined_report(
	const struct confined *confined, struct arena *arena, struct exec_result *result)
{
	static const char nothing[] =
		"nothing is enforced, since the policy has \"trust\": \"forbid\"\n";

	if (confined->policy.trust == POLICY_TRUST_FORBID)
		result->unenforced = nothing;
	else
		result->unenforced = arena_str(arena, read_text(confined->unenforced, arena)).ptr;
	if (confined->active)
		denied_read(read_text(confined->told, arena), arena, &result->denials,
			&result->n_denials);
}

const char *confined_describe_loss(const struct confined *confined, struct arena *arena)
{
	int error =
		confined->active && confined->denials >= 0 ? denials_check(confined->denials) : 0;

	return error ? arena_printf(arena,
			       "--denials: no denial can be written there now: %s; their number "
			       "is told at the end\n",
			       denials_describe(error))
		     : NULL;
}

void confined_release(struct confined *confined)
{
	warden_free(confined->warden);
	close_fd(&confined->told);
	close_fd(&confined->unenforced);
	close_fd(&confined->denials);
	close_fd(&confined->collected);
	close_fd(&confined->joined);
	close_fd(&confined->stubs);
	grantsocket_release(&confined->grants);
	resource_group_release(&confined->group);
	if (confined->orders.policy) {
		close_fd(&confined->orders.report);
		close_fd(&confined->orders.proc);
	}
}
