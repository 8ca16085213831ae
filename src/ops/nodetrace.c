#include "ops/nodetrace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/removal.h"
#include "ops/shape.h"
#include "sandbox/process.h"
#include "trace/bundle/bundle.h"
#include "trace/trace.h"

#define BEING_MADE ".new-"

/* ----------------------------------------------------------- making a trace */

static int open_traces(struct env *env, struct err *err)
{
	return at_open(env->rootfd, NODETRACE_DIR, O_RDONLY | O_DIRECTORY, err);
}

int nodetrace_begin(struct env *env, struct nodetrace_new *made, struct err *err)
{
	char path[sizeof(NODETRACE_DIR) + sizeof(made->name)];

	snprintf(made->name, sizeof(made->name), BEING_MADE "%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/%s", NODETRACE_DIR, made->name);
	int r = at_mkdirs(env->rootfd, path, 0700, err);
	if (r < 0)
		return r;
	owned_fd int dir = at_open(env->rootfd, path, O_RDONLY | O_DIRECTORY, err);
	if (dir < 0)
		return dir;
	made->fd = at_create(dir, BUNDLE_MANIFEST, O_WRONLY | O_CREAT | O_TRUNC, 0600, err);
	return made->fd < 0 ? made->fd : 0;
}

static void close_report(void *arg)
{
	close_fd(arg);
}

int nodetrace_run_wrapped(
	const struct sandbox_command *command, int manifest, int report, struct err *err)
{
	struct trace_inside inside = {
		.manifest_fd = manifest,
		.argv = (char *const *)command->argv,
		.started = close_report,
		.arg = &report,
	};
	struct trace_result result;
	int kept[] = { manifest, report };

	environ = (char **)command->env;
	/*
	 * Close all other descriptors.  This process stays in the sandbox until the command has
	 * ended, and programs in the sandbox are not trusted.
	 */
	if (process_close_others(kept, 2, err) < 0)
		return SANDBOX_FAILED;
	int r = trace_run_inside(&inside, &result, err);
	if (r >= 0 && result.unsaved.code)
		(void)!ftruncate(manifest, 0);
	if (r >= 0)
		_exit(result.exit_status);
	if (report >= 0)
		return SANDBOX_FAILED;
	/*
	 * The report is already closed, so the error is written to the standard error of the
	 * command.
	 */
	fprintf(stderr, "strata: %s\n", err->text);
	_exit(result.exit_status);
}

void nodetrace_wrap(struct nodetrace_new *made, struct sandbox_command *command)
{
	if (made->fd < 0)
		return;
	command->wrapped = true;
	command->kept = made->fd;
}

/* Check that a trace is whole.  A tracer that was killed may have left half a trace. */
static int check_whole(int traces, const char *name, struct err *err)
{
	owned_fd int dir = at_open(traces, name, O_RDONLY | O_DIRECTORY, err);
	owned(bundle_closep) struct bundle *bundle = dir < 0 ? NULL : bundle_open(dir, err);

	if (!bundle)
		return -(int)err->code;
	return at_fsync(dir, name, err);
}

int nodetrace_attach(struct env *env, struct nodetrace_new *made, const char *node, struct err *err)
{
	struct statx stx;
	owned_fd int traces = open_traces(env, err);

	if (traces < 0)
		return traces;
	if (at_fd_stat(made->fd, &stx) < 0 || !stx.stx_size) {
		nodetrace_drop(env, made);
		return err_set(err, ERR_NOT_FOUND, "the command was killed with its tracer");
	}
	int r = at_fsync(made->fd, BUNDLE_MANIFEST, err);
	if (r >= 0)
		r = check_whole(traces, made->name, err);
	if (r >= 0)
		r = at_rename(traces, made->name, node, err);
	if (r < 0) {
		nodetrace_drop(env, made);
		return r;
	}
	close_fd(&made->fd);
	return at_fsync(traces, NODETRACE_DIR, err);
}

void nodetrace_drop(struct env *env, struct nodetrace_new *made)
{
	struct err ignored = { 0 };

	if (made->fd < 0)
		return;
	close_fd(&made->fd);
	owned_fd int traces = open_traces(env, &ignored);
	if (traces >= 0)
		(void)at_remove_tree(traces, made->name, &ignored);
}

/* ---------------------------------------------------------- reading a trace */

static const unsigned reads = BUNDLE_READ | BUNDLE_EXECUTE;

static bool was_read(const struct bundle_file *file)
{
	return file->operations & reads && file->state[BUNDLE_BEFORE].exists;
}

static bool was_written(const struct bundle_file *file)
{
	return file->operations & BUNDLE_CHANGING && bundle_compare(file);
}

static void list_paths(const struct bundle *bundle, struct arena *arena, struct nodetrace *trace)
{
	trace->found = true;
	trace->complete = bundle->complete;
	trace->read = arena_alloc(arena, bundle->n_files * sizeof(struct str) + 1);
	trace->written = arena_alloc(arena, bundle->n_files * sizeof(struct str) + 1);
	for (size_t i = 0; i < bundle->n_files; i++) {
		const struct bundle_file *file = &bundle->files[i];

		if (was_read(file))
			trace->read[trace->n_read++] = arena_str(arena, file->path);
		if (was_written(file))
			trace->written[trace->n_written++] = arena_str(arena, file->path);
	}
}

int nodetrace_get(struct env *env, const char *node, struct arena *arena, struct nodetrace *trace,
	struct err *err)
{
	char path[sizeof(NODETRACE_DIR) + NODE_ID];
	struct err missing = { 0 };

	*trace = (struct nodetrace){ 0 };
	snprintf(path, sizeof(path), "%s/%s", NODETRACE_DIR, node);
	owned_fd int dir = at_open(env->rootfd, path, O_RDONLY | O_DIRECTORY, &missing);
	if (dir < 0)
		return 0;
	owned(bundle_closep) struct bundle *bundle = bundle_open(dir, err);
	if (!bundle)
		return err_context(err, "trace of node %s", node);
	list_paths(bundle, arena, trace);
	return 0;
}

void nodetrace_json(struct json *out, const struct nodetrace *trace)
{
	if (!trace->found)
		return json_none(out, "trace");
	json_open(out, "trace", '{');
	json_bool(out, "complete", trace->complete);
	json_strs(out, "read", trace->read, trace->n_read);
	json_strs(out, "written", trace->written, trace->n_written);
	json_close(out);
}

/* ----------------------------------------------------------- removing traces */

/*
 * Whether the trace 'name' was renamed, or was left by a process that has ended.  If a new process
 * has the same pid now, the result is false, and the trace stays until a later gc.
 */
static bool is_abandoned(const char *name)
{
	int pid = 0;

	if (!strncmp(name, REMOVAL_GONE, strlen(REMOVAL_GONE)))
		return true;
	return sscanf(name, BEING_MADE "%d", &pid) == 1 && pid > 0 && kill(pid, 0) < 0 &&
	       errno == ESRCH;
}

static int rename_if_gone(void *arg, int dirfd, const char *name, struct err *err)
{
	struct env *env = arg;
	owned(arena_release) struct arena arena = { 0 };
	char gone[NODE_ID + sizeof(REMOVAL_GONE)];
	struct node node;
	int r = node_id_ok(name) ? history_get(&env->history, name, &arena, &node, err) : 1;

	if (r)
		return r < 0 ? r : 0;
	snprintf(gone, sizeof(gone), REMOVAL_GONE "%s", name);
	return at_rename(dirfd, name, gone, err);
}

static int remove_if_abandoned(void *arg, int dirfd, const char *name, struct err *err)
{
	return is_abandoned(name) ? at_remove_tree(dirfd, name, err) : 0;
}

static int each_trace(struct env *env,
	int (*visit)(void *arg, int dirfd, const char *name, struct err *err), struct err *err)
{
	if (!at_exists(env->rootfd, NODETRACE_DIR))
		return 0;
	owned_fd int traces = open_traces(env, err);
	return traces < 0 ? traces : at_each_name(traces, ".", visit, env, err);
}

int nodetrace_sweep(struct env *env, struct err *err)
{
	return each_trace(env, rename_if_gone, err);
}

int nodetrace_remove(struct env *env, struct err *err)
{
	return each_trace(env, remove_if_abandoned, err);
}
