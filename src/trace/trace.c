#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/bundle/manifest.h"
#include "trace/bundle/outdir.h"
#include "trace/engine/engine.h"
#include "trace/observe/ignore.h"

static const struct engine *const engines[] = { &engine_bpf, &engine_notify, &engine_ptrace };

#define N_ENGINES (sizeof(engines) / sizeof(engines[0]))

/* The data of one run of a traced command. */
struct session {
	const struct trace_request *request;
	/* the parameters if the run is inside an environment; NULL: 'request' has the parameters */
	const struct trace_inside *inside;
	char *const *argv;
	struct outdir output;
	struct pathmap *map;
	struct reasons *reasons;
	struct saver *saver;
	struct tracees *tracees;
	struct recorder recorder;
	struct observer observer;
	const struct engine *engine;
	struct launch launch;
	struct engine_run run;
	int *inherited; /* descriptors that the command inherits */
	size_t n_inherited, cap_inherited;
	char *cwd;
	int64_t started_at, ended_at;
};

static void session_release(struct session *session)
{
	launch_release(&session->launch);
	observer_release(&session->observer);
	recorder_release(&session->recorder);
	passing_free(session->run.passing);
	saver_free(session->saver);
	tracees_free(session->tracees);
	pathmap_free(session->map);
	reasons_free(session->reasons);
	outdir_release(&session->output);
	free(session->inherited);
	free(session->cwd);
}

static int choose_engine(struct session *session, struct err *err)
{
	const char *wanted = session->inside ? NULL : session->request->engine;
	bool any = !wanted || !strcmp(wanted, "auto");
	struct err why = { 0 };

	for (size_t i = 0; i < N_ENGINES; i++) {
		if (!any && strcmp(wanted, engines[i]->name))
			continue;
		session->engine = engines[i];
		if (engines[i]->probe(&session->run, &why) >= 0)
			return 0;
		err_context(&why, "engine %s", engines[i]->name);
	}
	if (!why.code)
		return err_set(err, ERR_USAGE,
			"there is no engine '%s'; there are auto, bpf, notify and ptrace", wanted);
	*err = why;
	return -(int)err->code;
}

/* --- descriptors that the command inherits --- */

static int add_inherited(void *arg, int dirfd, const char *name, struct err *err)
{
	struct session *session = arg;
	int fd = (int)strtol(name, NULL, 10);
	int flags = fcntl(fd, F_GETFD);
	struct statx stx;

	if (fd == dirfd || flags < 0 || flags & FD_CLOEXEC)
		return 0;
	mem_grow(&session->inherited, &session->cap_inherited, session->n_inherited);
	session->inherited[session->n_inherited++] = fd;
	if (at_fd_stat(fd, &stx) == 0 && S_ISDIR(stx.stx_mode))
		session->run.listings = true;
	return 0;
}

static int find_inherited(struct session *session, struct err *err)
{
	owned_fd int fds = at_open_given("/proc/self/fd", O_RDONLY | O_DIRECTORY, 0, err);

	if (fds < 0)
		return err_hint(err, "tracing needs /proc");
	return at_each_name(fds, ".", add_inherited, session, err);
}

/* --- before, during and after the run --- */

static int prepare_output(struct session *session, struct err *err)
{
	struct outdir *output = &session->output;
	struct pathmap *map = session->map;

	if (session->inside) {
		ignore_kernel(map);
		return 0;
	}
	int r = outdir_init(output, session->request->output, err);
	if (r >= 0)
		r = ignore_load(session->request->ignore, map, err);
	if (r < 0)
		return r;
	/* Mark the path of the bundle as ignored, so that the bundle does not record itself. */
	struct pathmap_entry *parent = pathmap_known(map, str_of(output->path));
	pathmap_child(map, parent, str_of(output->name))->ignored = true;
	return 0;
}

static int prepare_session(struct session *session, struct err *err)
{
	int r = prepare_output(session, err);

	if (r >= 0)
		r = choose_engine(session, err);
	if (r >= 0)
		r = find_inherited(session, err);
	if (r < 0)
		return r;
	owned_fd int here = at_open_given(".", O_PATH | O_DIRECTORY, 0, err);
	session->cwd = here < 0 ? NULL : at_path_of(here, err);
	return session->cwd ? 0 : -(int)err->code;
}

/* Fork the child before this process starts any thread. */
static int start_session(struct session *session, struct err *err)
{
	session->launch.inside = session->inside != NULL;
	int r = launch_start(
		&session->launch, session->argv, session->engine->prepare, &session->run, err);

	if (r < 0)
		return r;
	session->tracees = tracees_new(err);
	if (session->tracees && !session->inside)
		session->saver = saver_new(
			session->output.parent, session->request->codec, session->reasons, err);
	if (!session->tracees || (!session->saver && !session->inside)) {
		launch_abandon(&session->launch);
		return -(int)err->code;
	}
	recorder_init(&session->recorder, session->map, session->saver, session->reasons);
	if (!session->inside && session->request->has_read_limit)
		session->recorder.read_limit = session->request->read_limit;
	observer_init(&session->observer, &session->recorder, session->tracees, session->reasons);
	session->observer.shared.by_ptrace = session->engine == &engine_ptrace;
	session->observer.shared.passing = session->run.passing;
	session->observer.shared.has_open = passing_has_open;
	session->run.observer = &session->observer;
	session->run.saver = session->saver;
	session->run.launch = &session->launch;
	return 0;
}

static int run_engine(struct session *session, struct err *err)
{
	/*
	 * Report the process of the command before any other, because it must be the first in the
	 * list of processes.
	 */
	observer_starts(&session->observer, session->launch.pid, session->argv);
	for (size_t i = 0; i < session->n_inherited; i++)
		observer_inherits(&session->observer, session->inherited[i]);
	session->started_at = when_now();
	if (session->inside)
		session->inside->started(session->inside->arg);
	int r = session->engine->run(&session->run, err);
	session->ended_at = when_now();
	observer_finish(&session->observer);
	if (r >= 0)
		observer_ended(&session->observer, session->launch.pid, session->run.status);
	return r;
}

/* Remove all references to saved contents from the records, since the contents are lost. */
static void forget_blobs(struct session *session, const struct err *why)
{
	reasons_add(session->reasons, "contents could not be saved: %s", why->text);
	for (struct record *record = session->recorder.records; record; record = record->next)
		record->listed = true;
	for (size_t i = 0; i < session->recorder.n_sorted; i++) {
		session->recorder.sorted[i]->before.blob = NULL;
		session->recorder.sorted[i]->after.blob = NULL;
	}
}

static void fill_manifest(struct session *session, struct manifest *manifest)
{
	struct recorder *recorder = &session->recorder;

	recorder_finish(recorder);
	manifest->records = recorder->records;
	manifest->files = recorder->sorted;
	manifest->n_files = recorder->n_sorted;
	manifest->repositories = recorder->repositories;
	manifest->moved = recorder->unrecorded.moved;
	manifest->n_moved = recorder->unrecorded.n_moved;
	manifest->lost = recorder->unrecorded.lost;
	manifest->n_lost = recorder->unrecorded.n_lost;
}

static int write_bundle(struct session *session, int exit_status, struct err *err)
{
	struct manifest manifest = {
		.command = session->argv,
		.exit_status = exit_status,
		.start_cwd = session->cwd,
		.engine = session->engine->name,
		.started_at = session->started_at,
		.ended_at = session->ended_at,
		.processes = tracees_process(session->tracees, 0),
		.n_processes = tracees_count(session->tracees),
		.reasons = session->reasons,
	};
	struct err why = { 0 };
	struct hash blobs;

	fill_manifest(session, &manifest);
	if (session->inside)
		return manifest_write_to(session->inside->manifest_fd, &manifest, err);
	if (saver_finish(session->saver, &why) < 0)
		forget_blobs(session, &why);
	if (outdir_begin(&session->output, err) < 0)
		return -(int)err->code;
	if (saver_link(session->saver, session->output.fd, &why) < 0)
		forget_blobs(session, &why);
	if (saver_digest(session->saver, &blobs))
		manifest.blobs = &blobs;
	int r = manifest_write(session->output.fd, &manifest, &why);
	/*
	 * Sync the contents only after the manifest has been written, since the disk writes
	 * contents while the manifest is made.  If there is no room for both, the contents are
	 * removed: a bundle without contents is better than no bundle.
	 */
	if (r < 0 ? saver_remove(session->saver) : saver_sync(session->saver, &why) < 0) {
		forget_blobs(session, &why);
		manifest.blobs = NULL;
		r = manifest_write(session->output.fd, &manifest, &why);
	}
	if (r < 0)
		*err = why;
	return r < 0 ? r : outdir_commit(&session->output, err);
}

static void fill_result(const struct session *session, struct trace_result *result)
{
	result->complete = !reasons_count(session->reasons);
	if (session->output.instead)
		result->instead = arena_printf(
			&result->arena, "%s/%s", session->output.path, session->output.instead);
	if (!result->complete)
		result->first_reason =
			arena_strdup(&result->arena, reasons_get(session->reasons, 0));
}

static int run_session(struct session *session, struct trace_result *result, struct err *err)
{
	int r = prepare_session(session, err);

	if (r >= 0)
		r = start_session(session, err);
	if (r >= 0)
		r = run_engine(session, err);
	if (r < 0) {
		result->exit_status = TRACE_FAILED;
		return r;
	}
	result->exit_status = manifest_exit_status(session->run.status);
	errno = launch_failure(&session->launch);
	if (errno)
		return err_errno(err, "run '%s'", session->argv[0]);
	/* The command has run, so a failure to write the bundle does not change the exit status. */
	(void)write_bundle(session, result->exit_status, &result->unsaved);
	fill_result(session, result);
	return 0;
}

static int run_once(struct session *session, struct trace_result *result, struct err *err)
{
	*result = (struct trace_result){ 0 };
	session->output = (struct outdir)OUTDIR_INIT;
	session->map = pathmap_new();
	session->reasons = reasons_new();
	launch_init(&session->launch);
	session->observer.shared.mountwatch.fd = -1;
	int r = run_session(session, result, err);
	session_release(session);
	return r;
}

int trace_run(const struct trace_request *request, struct trace_result *result, struct err *err)
{
	struct session session = { .request = request, .argv = request->argv };

	return run_once(&session, result, err);
}

int trace_run_inside(
	const struct trace_inside *inside, struct trace_result *result, struct err *err)
{
	struct session session = {
		.inside = inside,
		.argv = inside->argv,
		.run.in_group = true,
	};

	return run_once(&session, result, err);
}

void trace_result_release(struct trace_result *result)
{
	arena_release(&result->arena);
}
