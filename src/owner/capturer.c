#include "owner/capturer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/watch.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/running.h"
#include "ops/table.h"
#include "owner/loop.h"
#include "owner/owner_priv.h"
#include "sandbox/sandbox.h"

#define GATHER_MS 20 /* several changes within this time are reported to the owner as one */
#define AGAIN_MS 500 /* pause before a failed capture is tried again; doubled with each failure */
#define AGAIN_MAX_MS 30000
/* after this many restarts in a row, the watcher is not started again */
#define RESTARTS_MAX 8
/* exit status of the watcher when another directory has become the live tree */
#define EXIT_GONE 3

/* The reports of a watcher to the owner.  Each report is one byte. */
enum { SAYS_READY = 'r', SAYS_CHANGED = 'c', SAYS_PARTIAL = 'p' };

struct watcher {
	struct task task; /* must be the first member */
	struct owner *owner;
	int said; /* pipe on which the watcher sends its reports */
	/*
	 * Pipe to the watcher.  When a byte arrives, the watcher checks whether another directory
	 * has become the live tree.
	 */
	int ask;
	struct loop_event *reading;
};

/* ----------------------------------------------------------------- the watcher */

static void report_byte(int fd, char what)
{
	/*
	 * If the pipe is full, the report is dropped.  The reports in the pipe are enough to make
	 * the owner capture the live tree.
	 */
	(void)!write(fd, &what, 1);
}

/*
 * The parts of an environment that the watcher needs.  They are copies, so the environment need not
 * stay open.
 */
struct watched {
	int live;
	struct watch_without without;
	struct arena arena;
};

static int dup_watched(struct watched *watched, const struct env *env, struct err *err)
{
	const char **list = arena_alloc(&watched->arena, (env->n_exclude + 1) * sizeof(*list));

	for (size_t i = 0; i < env->n_exclude; i++)
		list[i] = arena_strdup(&watched->arena, env->exclude[i]);
	watched->live = fcntl(workspace_live(env->workspace), F_DUPFD_CLOEXEC, 0);
	watched->without = (struct watch_without){
		.own = fcntl(env->rootfd, F_DUPFD_CLOEXEC, 0),
		.exclude = list,
		.n_exclude = env->n_exclude,
	};
	return watched->live < 0 || watched->without.own < 0 ? err_errno(err, "open the live tree")
							     : 0;
}

static int open_watched(struct owner *owner, struct watched *watched, struct err *err)
{
	static const enum env_access access[] = { ENV_LOOK, ENV_WRITE };
	struct env env;

	/*
	 * A fork of a workspace has no live tree before its first use.  If the live tree is
	 * missing, open the environment for writing, which makes the live tree.
	 */
	for (size_t i = 0; i < sizeof(access) / sizeof(access[0]); i++) {
		int r = env_open(&env, owner->options->root, owner->options->workspace, access[i],
			"watch", NULL, err);

		if (r < 0)
			return r;
		if (workspace_live(env.workspace) >= 0)
			break;
		env_close(&env);
	}
	int r = dup_watched(watched, &env, err);
	env_close(&env);
	return r;
}

/* Report changes until another directory has become the live tree or the owner has ended. */
static int watch_until_gone(struct watch *watch, int said, int asked, struct err *err)
{
	bool partial = false;
	char byte[64];

	for (;;) {
		struct pollfd ready[2] = {
			{ .fd = watch_fd(watch), .events = POLLIN },
			{ .fd = asked, .events = POLLIN },
		};

		if (watch_partial(watch) && !partial)
			report_byte(said, SAYS_PARTIAL);
		partial = watch_partial(watch);
		if (poll(ready, 2, -1) < 0)
			continue;
		if (ready[1].revents && read(asked, byte, sizeof(byte)) == 0)
			return 0;
		if (watch_gone(watch))
			return EXIT_GONE;
		if (!ready[0].revents)
			continue;
		when_pause(GATHER_MS * WHEN_MS);
		int r = watch_read(watch, err);
		if (r < 0)
			return r;
		if (r > 0)
			report_byte(said, SAYS_CHANGED);
	}
}

static _Noreturn void watcher_main(struct owner *owner, int said, int asked)
{
	const int std[3] = { -1, -1, STDERR_FILENO };
	int *const kept[] = { &said, &asked };
	struct err err = { 0 };
	struct watched watched = { 0 };
	int r = task_set_fds(std, kept, 2, &err);

	if (r >= 0)
		r = open_watched(owner, &watched, &err);
	struct watch *watch = r < 0 ? NULL : watch_new(watched.live, &watched.without, &err);
	if (watch)
		report_byte(said, SAYS_READY);
	r = watch ? watch_until_gone(watch, said, asked, &err) : -1;
	if (r < 0)
		owner_say(owner, "%s", err.text);
	watch_free(watch);
	_exit(r < 0 ? 1 : r);
}

/* ------------------------------------------------------------------ capturing */

static void start_capture(struct capturer *capturer);

/*
 * Returns the number of milliseconds from the time 'now' until 'ms' milliseconds after the time
 * 'instant'.  The result is at least 0 and at most 'ms'.
 */
static int ms_until(int64_t instant, int ms, int64_t now)
{
	int64_t left = instant / WHEN_MS + ms - now / WHEN_MS;

	return left < 0 ? 0 : left > ms ? ms : (int)left;
}

/* Record that the live tree may have changed. */
static void note_change(struct capturer *capturer)
{
	int64_t now = when_monotonic();

	if (!capturer->dirty)
		capturer->since = now;
	capturer->dirty = true;
	if (capturer->capturing || loop_is_set(capturer->again))
		return;
	int apart = capturer->made ? ms_until(capturer->made, CAPTURER_LONGEST_MS, now) : 0;
	loop_set(capturer->quiet, apart > CAPTURER_QUIET_MS ? apart : CAPTURER_QUIET_MS);
	/*
	 * CAPTURER_LONGEST_MS counts from the first change.  That change may have been made during
	 * the last capture.
	 */
	if (!loop_is_set(capturer->longest))
		loop_set(capturer->longest, ms_until(capturer->since, CAPTURER_LONGEST_MS, now));
}

/*
 * If it is certain that one command of a client has made all changes of the next node, set *command
 * to this command.  This is certain if at some time no program ran in the workspace, and only one
 * command was started after that time.  If a second command was started, either of the two may have
 * made a change, because the first command may have left programs running.
 */
static void set_command(const struct owner *owner, struct arena *arena, struct param_texts *command)
{
	const struct capturer *capturer = &owner->capturer;
	const struct call *call = owner->calls;
	struct err ignored = { 0 };

	while (call && (call->number != capturer->only || !call->command || call->answered))
		call = call->next;
	owned(jsonread_freep) struct jsonread *argv =
		call && !capturer->mixed ? jsonread_new(str_of(call->command), &ignored) : NULL;
	if (argv)
		(void)param_read_texts("command", argv, arena, command, &ignored);
}

void capturer_note_writer(struct capturer *capturer, int64_t number)
{
	capturer->mixed |= capturer->only != 0;
	capturer->only = number;
}

void capturer_forget_writers(struct capturer *capturer)
{
	struct owner *owner = capturer->owner;
	struct err ignored = { 0 };
	struct env env;

	capturer->only = 0;
	/* If the live tree is a plain directory, any process of the machine can change it. */
	capturer->mixed = !owner->mounted || owner_is_executing(owner) || owner_is_writing(owner);
	if (capturer->mixed || owner_open_env(owner, &env, &ignored) < 0)
		return;
	capturer->mixed = running_count(&env, env.row.name) > 0;
	env_close(&env);
}

/* Save whether changes are recorded, so that 'strata status' can show it. */
static void write_recording(struct capturer *capturer)
{
	struct owner *owner = capturer->owner;
	struct recording recording = {
		.mode = capturer->partial ? RECORDING_LOOKING : RECORDING_WATCHING,
		.pid = getpid(),
		.by = owner->options->request->argv.count ? "supervise" : "daemon",
		.every = capturer->partial ? CAPTURER_PARTIAL_MS / 1000 : 0,
		.last_node = capturer->node[0] ? capturer->node : NULL,
		.degraded = capturer->failures  ? capturer->why
			    : capturer->partial ? "not every directory can be watched "
						  "(fs.inotify.max_user_watches)"
						: NULL,
	};

	recording_note(owner->lock, &recording);
}

static void retry_later(struct capturer *capturer, const char *why)
{
	unsigned shift = capturer->failures < 6 ? capturer->failures : 6;
	int ms = AGAIN_MS << shift;

	if (!capturer->failures)
		owner_say(capturer->owner, "cannot capture the changes: %s", why);
	capturer->failures++;
	snprintf(capturer->why, sizeof(capturer->why), "cannot capture the changes: %s", why);
	write_recording(capturer);
	capturer->dirty = true;
	loop_set(capturer->again, ms < AGAIN_MAX_MS ? ms : AGAIN_MAX_MS);
}

static void on_captured(struct owner *owner, const struct jsonread *answer)
{
	struct capturer *capturer = &owner->capturer;
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	const struct jsonread *error = answer ? jsonread_member(answer, "error") : NULL;
	struct str why = STR("it was cut off"), id;
	bool made = false;

	capturer->capturing = false;
	if (!result) {
		if (error)
			(void)jsonread_get_str(error, "message", &why);
		retry_later(capturer, why.ptr);
	}
	if (capturer->last) {
		loop_stop(owner->loop);
		return;
	}
	if (capturer->ending) {
		start_capture(capturer);
		return;
	}
	if (!result)
		return;
	if (capturer->failures)
		owner_say(owner, "changes are captured again");
	bool changed = capturer->failures > 0;
	capturer->failures = 0;
	(void)jsonread_get_bool(result, "made", &made);
	if (made) {
		capturer->made = capturer->began;
		retainer_count_node(&owner->retainer);
	} else {
		retainer_collect_if_due(&owner->retainer);
	}
	if (made && jsonread_get_str(result, "id", &id) == JSONREAD_FOUND)
		snprintf(capturer->node, sizeof(capturer->node), "%s", id.ptr);
	if (made || changed)
		write_recording(capturer);
	if (capturer->dirty)
		note_change(capturer);
}

static void start_capture(struct capturer *capturer)
{
	struct owner *owner = capturer->owner;
	owned(arena_release) struct arena arena = { 0 };
	struct auto_request request = { 0 };
	struct call_plan plan = {
		.kind = CALL_OP, .op = &op_auto, .request = &request, .done = on_captured
	};
	struct err err = { 0 };

	loop_switch(capturer->quiet, false);
	loop_switch(capturer->longest, false);
	loop_switch(capturer->again, false);
	if (capturer->capturing)
		return;
	set_command(owner, &arena, &request.command);
	capturer->last = capturer->ending;
	request.end = capturer->last && !owner->options->request->leaves;
	capturer->dirty = false;
	capturer->capturing = true;
	capturer->began = when_monotonic();
	if (call_start(owner, &plan, NULL, &err) < 0) {
		capturer->capturing = false;
		retry_later(capturer, err.text);
		if (capturer->last)
			loop_stop(owner->loop);
	}
}

static void on_quiet_timer(void *arg)
{
	struct capturer *capturer = arg;

	/* A running command of a client will make a node itself when it ends. */
	if (owner_is_executing(capturer->owner))
		return;
	start_capture(capturer);
}

static void on_longest_timer(void *arg)
{
	start_capture(arg);
}

static void set_look_timer(struct capturer *capturer)
{
	loop_set(capturer->look, capturer->partial          ? CAPTURER_PARTIAL_MS
				 : capturer->owner->mounted ? CAPTURER_LOOK_MS
							    : CAPTURER_LOOK_ALL_MS);
}

static void set_partial(struct capturer *capturer)
{
	capturer->partial = true;
	write_recording(capturer);
	set_look_timer(capturer);
}

static void on_look_timer(void *arg)
{
	struct capturer *capturer = arg;
	bool programs = false;

	for (const struct call *call = capturer->owner->calls; call; call = call->next)
		programs |= call->command != NULL;
	if ((programs || capturer->partial) && !capturer->capturing)
		start_capture(capturer);
	set_look_timer(capturer);
}

/* ----------------------------------------------------- stores through mappings */

static void on_stores_checked(struct owner *owner, const struct jsonread *answer)
{
	struct capturer *capturer = &owner->capturer;
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	struct str state;

	capturer->looking = false;
	if (!result || jsonread_get_str(result, "state", &state) != JSONREAD_FOUND)
		return;
	if (state.len && strcmp(state.ptr, capturer->stores) != 0)
		note_change(capturer);
	snprintf(capturer->stores, sizeof(capturer->stores), "%s", state.ptr);
}

/*
 * Have the mapped files checked.  inotify does not report writes through a memory mapping.  The
 * times of the mapped files reveal such writes.
 */
static void on_mapped_timer(void *arg)
{
	struct capturer *capturer = arg;
	struct owner *owner = capturer->owner;
	struct call_plan plan = { .kind = CALL_OP, .op = &op_stores, .done = on_stores_checked };
	struct err ignored = { 0 };
	bool possible = !owner->mounted || sandbox_is_there(owner->run, owner->options->workspace);

	loop_set(capturer->mapped, CAPTURER_MAPPED_MS);
	if (possible && !capturer->looking && !capturer->ending)
		capturer->looking = call_start(owner, &plan, NULL, &ignored) >= 0;
}

/* -------------------------------------------------------- running the watcher */

static void start_watcher(struct capturer *capturer);

static void on_watcher_report(void *arg)
{
	struct watcher *watcher = arg;
	struct capturer *capturer = &watcher->owner->capturer;
	char bytes[256];
	ssize_t n = read(watcher->said, bytes, sizeof(bytes));

	if (n <= 0) {
		loop_switch(watcher->reading, false);
		return;
	}
	if (memchr(bytes, SAYS_READY, (size_t)n))
		capturer->restarts = 0;
	if (memchr(bytes, SAYS_PARTIAL, (size_t)n) && !capturer->partial) {
		set_partial(capturer);
		owner_say(capturer->owner,
			"not every directory can be watched "
			"(fs.inotify.max_user_watches): looking every %d s instead",
			CAPTURER_PARTIAL_MS / 1000);
	}
	/* SAYS_READY counts as a change, too, because nothing watched the tree before */
	note_change(capturer);
}

static void free_watcher(struct watcher *watcher)
{
	loop_event_free(&watcher->reading);
	close_fd(&watcher->said);
	close_fd(&watcher->ask);
	free(watcher);
}

static void on_watcher_end(struct task *task, int status)
{
	struct watcher *watcher = (struct watcher *)(void *)task;
	struct owner *owner = watcher->owner;
	struct capturer *capturer = &owner->capturer;
	bool gone = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_GONE;

	free_watcher(watcher);
	capturer->watcher = NULL;
	if (owner->stopping)
		return;
	if (!gone && ++capturer->restarts > RESTARTS_MAX) {
		/* Without a watcher, the tree is captured at regular intervals. */
		set_partial(capturer);
		return;
	}
	start_watcher(capturer);
}

static int make_watcher(struct owner *owner, struct err *err)
{
	struct watcher *watcher = mem_zalloc(sizeof(*watcher));
	int said[2] = { -1, -1 }, ask[2] = { -1, -1 };
	int r = pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(ask, O_CLOEXEC) < 0
			? err_errno(err, "make a pipe")
			: 0;

	*watcher = (struct watcher){ .task.ended = on_watcher_end, .owner = owner };
	if (r >= 0)
		r = task_start(&owner->tasks, &watcher->task, TASK_SESSION, err);
	if (r == 0)
		watcher_main(owner, said[1], ask[0]);
	close_fd(&said[1]);
	close_fd(&ask[0]);
	watcher->said = said[0];
	watcher->ask = ask[1];
	if (r < 0) {
		free_watcher(watcher);
		return r;
	}
	watcher->reading =
		loop_fd(owner->loop, watcher->said, LOOP_READ, on_watcher_report, watcher);
	owner->capturer.watcher = watcher;
	return 0;
}

static void start_watcher(struct capturer *capturer)
{
	struct err err = { 0 };

	if (make_watcher(capturer->owner, &err) >= 0)
		return;
	owner_say(capturer->owner, "%s", err.text);
	set_partial(capturer);
}

void capturer_check_tree(struct capturer *capturer)
{
	if (capturer->watcher)
		(void)!write(capturer->watcher->ask, "?", 1);
}

/* ------------------------------------------------------------------- lifetime */

void capturer_start(struct capturer *capturer, struct owner *owner)
{
	*capturer = (struct capturer){ .owner = owner };
	capturer_forget_writers(capturer);
	capturer->quiet = loop_timer(owner->loop, on_quiet_timer, capturer);
	capturer->longest = loop_timer(owner->loop, on_longest_timer, capturer);
	capturer->again = loop_timer(owner->loop, on_longest_timer, capturer);
	capturer->look = loop_timer(owner->loop, on_look_timer, capturer);
	capturer->mapped = loop_timer(owner->loop, on_mapped_timer, capturer);
	set_look_timer(capturer);
	loop_set(capturer->mapped, CAPTURER_MAPPED_MS);
	write_recording(capturer);
	start_watcher(capturer);
}

void capturer_end(struct capturer *capturer)
{
	capturer->ending = true;
	if (!capturer->capturing)
		start_capture(capturer);
}

void capturer_stop(struct capturer *capturer)
{
	if (capturer->watcher) {
		(void)kill(capturer->watcher->task.pid, SIGKILL);
		free_watcher(capturer->watcher);
		capturer->watcher = NULL;
	}
	loop_event_free(&capturer->quiet);
	loop_event_free(&capturer->longest);
	loop_event_free(&capturer->look);
	loop_event_free(&capturer->mapped);
	loop_event_free(&capturer->again);
}
