/*
 * Runs the command in a child process.
 *
 * The parent makes the plan, forks the child, waits for it, compares the bundles and cleans up.
 * The child enters the namespaces, restores the state before the command, and traces the command.
 * The child writes the new bundle into the temporary directory, which both processes can access.
 */
#include "trace/replay.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "trace/replay_compare.h"
#include "trace/replay_place.h"
#include "trace/trace.h"

#define BUNDLE_NAME "bundle"
#define CHILDREN_MAX ((size_t)1 << 20)

struct replaying {
	struct bundle *bundle;
	struct restore *plan;
	struct replay_cover cover;
	struct replay_place place;
	/* the signal mask before the run; it is restored at the end */
	sigset_t mask;
	struct sigaction child_before; /* the action for SIGCHLD before the run */
};

/* The message that the child sends when it has finished. */
struct outcome {
	int result;     /* negative if the command was not run */
	struct err err; /* set if result is negative */
	int exit_status;
};

/* ------------------------------------------------------------------ the child */

static int check_steps(const struct restore *plan, struct err *err)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].failed)
			return err_set(err, ERR_SYSTEM, "restore '%s': %s",
				plan->steps[i].file->path.ptr, plan->steps[i].reason);
	return 0;
}

static int restore_before(struct replaying *replaying, int root, struct err *err)
{
	struct restore *plan = replaying->plan;

	plan->options.root = root;
	int rc = restore_apply(plan, err);
	if (rc >= 0)
		rc = check_steps(plan, err);
	return rc < 0 ? err_context(err, "rebuild the state before the command") : 0;
}

static int go_to_start(const struct replaying *replaying, int root, struct err *err)
{
	struct str cwd = replaying->bundle->start_cwd;
	const char *path = cwd.len > 1 ? cwd.ptr + 1 : ".";
	int rc = cwd.len > 1 ? at_mkdirs(root, path, 0755, err) : 0;
	owned_fd int dir = rc < 0 ? rc : at_open(root, path, O_PATH | O_DIRECTORY, err);

	if (dir < 0)
		return err_context(err, "enter the directory in which the command was run");
	return fchdir(dir) < 0 ? err_errno(err, "enter '%s'", cwd.ptr) : 0;
}

/*
 * Give the command /dev/null as its standard input.  Its output goes to strata's standard error,
 * because strata's standard output is reserved for the result.
 */
static int set_streams(struct err *err)
{
	owned_fd int null = at_open_given("/dev/null", O_RDONLY, 0, err);

	if (null < 0)
		return null;
	if (dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "set the command's input and output");
	return 0;
}

static int prepare_child(struct replaying *replaying, pid_t parent, struct err *err)
{
	int rc = replay_place_enter(&replaying->place, &replaying->cover, err);

	if (rc < 0)
		return rc;
	child_die_with(parent);
	owned_fd int root = at_open_given("/", O_RDONLY | O_DIRECTORY, 0, err);
	if (root < 0)
		return root;
	if ((rc = restore_before(replaying, root, err)) < 0 ||
		(rc = go_to_start(replaying, root, err)) < 0 ||
		(rc = replay_place_drop_rights(err)) < 0)
		return rc;
	return set_streams(err);
}

static int run_again(const struct replaying *replaying, int *exit_status, struct err *err)
{
	const struct bundle *bundle = replaying->bundle;
	owned_mem char *output = mem_printf("%s/" BUNDLE_NAME, replaying->place.path);
	owned_mem char **argv = mem_zalloc((bundle->n_command + 1) * sizeof(*argv));
	owned(trace_result_release) struct trace_result result = { 0 };
	struct trace_request request = { .output = output, .argv = argv };

	for (size_t i = 0; i < bundle->n_command; i++)
		argv[i] = (char *)bundle->command[i].ptr;
	int rc = trace_run(&request, &result, err);
	*exit_status = result.exit_status;
	if (rc >= 0 && result.unsaved.code) {
		*err = result.unsaved;
		rc = err_context(err, "the bundle of the new run was not written");
	}
	return rc;
}

static _Noreturn void report_run(struct replaying *replaying, pid_t parent, int report)
{
	struct outcome outcome = { 0 };

	(void)sigprocmask(SIG_SETMASK, &replaying->mask, NULL);
	(void)sigaction(SIGCHLD, &replaying->child_before, NULL);
	outcome.result = prepare_child(replaying, parent, &outcome.err);
	if (outcome.result >= 0)
		outcome.result = run_again(replaying, &outcome.exit_status, &outcome.err);
	(void)!write(report, &outcome, sizeof(outcome));
	_exit(0);
}

/* ----------------------------------------------------------------- the parent */

/*
 * Block the signals that would end this process.  wait_for_child receives them, so that this
 * process can end the child first.
 */
static void block_signals(sigset_t *waited, struct replaying *replaying)
{
	const struct sigaction wait_for_us = { .sa_handler = SIG_DFL };

	child_end_signals(waited);
	sigaddset(waited, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, waited, &replaying->mask);
	/* Reset the action, because a process that ignores SIGCHLD cannot wait for its children. */
	(void)sigaction(SIGCHLD, &wait_for_us, &replaying->child_before);
}

/*
 * Wait for the child.  If this process gets a signal, it ends the child and returns the signal.
 * Returns 0 if the child ended by itself.
 */
static int wait_for_child(pid_t pid, const sigset_t *waited)
{
	int ended_by = 0;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		int sig = sigwaitinfo(waited, NULL);

		if (sig > 0 && sig != SIGCHLD) {
			ended_by = sig;
			(void)kill(pid, SIGKILL);
		}
	}
	return ended_by;
}

/*
 * Replace the text of 'list' by the process ids of this process's children, with a space before and
 * after each, as in " 12 345 ".
 */
static bool list_children(struct buf *list)
{
	struct err ignored = { 0 };
	char path[64];

	buf_clear(list);
	buf_addc(list, ' ');
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return procfile_read(path, CHILDREN_MAX, list, &ignored) >= 0;
}

/*
 * Kill the processes that the command has left behind.  They have become children of this process,
 * which is a subreaper (PR_SET_CHILD_SUBREAPER).  The children in the list 'others' are spared,
 * since this process had them before the command was started.
 */
static void end_orphans(const struct buf *others)
{
	owned(buf_release) struct buf list = BUF_INIT;
	unsigned ended;

	do {
		char *end = NULL, word[32];

		ended = 0;
		if (!list_children(&list))
			return;
		for (const char *at = list.data; *at; at = end) {
			pid_t pid = (pid_t)strtol(at, &end, 10);

			if (end == at)
				break;
			snprintf(word, sizeof(word), " %d ", (int)pid);
			if (others->len && strstr(others->data, word))
				continue;
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
			ended++;
		}
	} while (ended);
}

static int read_outcome(int report, int ended_by, struct outcome *outcome, struct err *err)
{
	ssize_t n = read(report, outcome, sizeof(*outcome));

	if (ended_by)
		return err_set(
			err, ERR_SYSTEM, "ended by signal %d (%s)", ended_by, strsignal(ended_by));
	if (n != (ssize_t)sizeof(*outcome))
		return err_set(err, ERR_SYSTEM, "the process that ran the command was killed");
	if (outcome->result < 0)
		*err = outcome->err;
	return outcome->result;
}

static int run_child(struct replaying *replaying, struct outcome *outcome, struct err *err)
{
	owned(buf_release) struct buf others = BUF_INIT;
	pid_t self = getpid();
	sigset_t waited;
	int ends[2];

	(void)list_children(&others);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	owned_fd int report = ends[0], theirs = ends[1];
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	block_signals(&waited, replaying);
	pid_t pid = fork();
	if (!pid)
		report_run(replaying, self, theirs);
	int failed = pid < 0 ? err_errno(err, "fork") : 0;
	close_fd(&theirs);
	int ended_by = pid < 0 ? 0 : wait_for_child(pid, &waited);
	if (pid > 0)
		end_orphans(&others);
	(void)sigprocmask(SIG_SETMASK, &replaying->mask, NULL);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0);
	return failed < 0 ? failed : read_outcome(report, ended_by, outcome, err);
}

static int compare_bundles(struct replaying *replaying, const struct replay_options *options,
	struct replay *replay, struct err *err)
{
	const struct bundle *recorded = replaying->bundle;
	owned_fd int dir = at_open(replaying->place.dir, BUNDLE_NAME, O_RDONLY | O_DIRECTORY, err);
	owned(bundle_closep) struct bundle *replayed = dir < 0 ? NULL : bundle_open(dir, err);

	if (!replayed)
		return -(int)err->code;
	replay->complete = replayed->complete && (!recorded->has_complete || recorded->complete);
	return replay_compare(replaying->bundle, replayed, options, replay, err);
}

static int check_plan(
	const struct restore *plan, const struct replay_options *options, struct err *err)
{
	for (size_t i = 0; i < plan->n_steps && plan->missing; i++)
		if (plan->steps[i].action == RESTORE_MISSING)
			options->missing(options->arg, &plan->steps[i]);
	if (!plan->missing)
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		"the state before the command cannot be rebuilt: the bundle lacks what %zu %s",
		plan->missing, plan->missing == 1 ? "path needs" : "paths need");
}

static int check_bundle(const struct bundle *bundle, struct err *err)
{
	if (!bundle->n_command)
		return err_set(err, ERR_INVALID, "the bundle does not say what was run");
	if (!bundle->start_cwd.len || *bundle->start_cwd.ptr != '/')
		return err_set(
			err, ERR_INVALID, "the bundle does not say where the command was run");
	return 0;
}

static int replay_plan(struct replaying *replaying, const struct replay_options *options,
	struct replay *replay, struct err *err)
{
	struct outcome outcome;
	int rc = check_plan(replaying->plan, options, err);

	if (rc >= 0)
		rc = replay_cover_find(&replaying->cover, replaying->plan, err);
	if (rc >= 0)
		rc = replay_place_init(&replaying->place, &replaying->cover, err);
	if (rc >= 0)
		rc = run_child(replaying, &outcome, err);
	if (rc < 0)
		return rc;
	replay->exit_status = outcome.exit_status;
	return compare_bundles(replaying, options, replay, err);
}

int replay_run(struct bundle *bundle, const struct replay_options *options, struct replay *replay,
	struct err *err)
{
	int rc = check_bundle(bundle, err);
	owned_fd int root = rc < 0 ? rc : at_open_given("/", O_RDONLY | O_DIRECTORY, 0, err);

	if (root < 0)
		return root;
	struct restore_options before = {
		.root = root,
		.side = BUNDLE_BEFORE,
		.force = true,
		.fresh = true,
	};
	owned(restore_plan_freep) struct restore *plan = restore_plan(bundle, &before, err);
	if (!plan)
		return -(int)err->code;
	struct replaying replaying = {
		.bundle = bundle,
		.plan = plan,
		.place = REPLAY_PLACE_INIT,
	};
	*replay = (struct replay){ 0 };
	rc = replay_plan(&replaying, options, replay, err);
	replay_place_release(&replaying.place);
	replay_cover_release(&replaying.cover);
	return rc;
}

const char *replay_difference_name(unsigned bit)
{
	return bit == REPLAY_EXISTS ? "exists" : bundle_change_name(bit);
}
