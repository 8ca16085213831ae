/*
 * seccomp user notification: a call of the table stops its thread until we answer
 * "go on".  The kernel wakes us on the processor the call was made on and the thread
 * right after us, which is why this costs a fraction of ptrace.  So a thread of its own
 * does nothing but wait in the kernel for the next call.  (One per processor was no
 * faster: they take turns, and each time the caches are another's.)
 *
 * For the engine bpf, too (run->passing): then calls that change nothing do not come here, but are
 * seen in a ring.  Before anything else is looked at, or allowed to go on, that ring is read.
 *
 * The first thread keeps everything else: ended processes, calls that wait for the
 * saver, and the end, which is when no process is left that has the filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/thread.h"
#include "core/uapi.h"
#include "core/when.h"
#include "sandbox/bpf.h"
#include "trace/engine.h"
#include "trace/filter.h"
#include "trace/guardian.h"

#define WAKE SIGURG /* gets a server out of the kernel; ignored by everybody else */

#define STOP_PAUSE_US 100
#define SLICE_NS 100000
#define TURN_NS WHEN_MS /* who has been alone for longer is alone */

/* A call that waits for the saver. */
struct held {
	uint64_t id;
	uint64_t number;
};

struct notify {
	struct engine_run *run;
	int listener;
	int children; /* signalfd */
	size_t request_size, response_size;
	pthread_mutex_t mutex; /* of the observer and of held */
	struct held *held;
	size_t n_held, cap_held;
	_Atomic bool over;
	bool synchronous;  /* the kernel can wake where the call was made, see note_turn */
	pid_t caller;      /* the process that called last */
	int64_t turned_at; /* when it was another's turn to call */
	struct guardian guardian;
	pthread_t server;
};

static void answer(const struct notify *notify, struct seccomp_notif_resp *response, uint64_t id)
{
	memset(response, 0, notify->response_size);
	response->id = id;
	response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	/* ENOENT: it was killed meanwhile. */
	while (ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_SEND, response) < 0 && errno == EINTR)
		;
}

/* --- the server --- */

static void wake_on_our_processor(const struct notify *notify, bool here)
{
	(void)ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		here ? SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP : 0);
}

/*
 * Whether several processes call by turns.  Who is woken on our processor stays there.  That is
 * best for one that calls again and again; but of several that compute between their calls, each
 * would be drawn to where we just were, until all are on one processor and the others idle for
 * milliseconds.
 */
static bool note_turn(struct notify *notify)
{
	pid_t caller = notify->run->observer->caller;
	int64_t now = when_monotonic();

	if (caller != notify->caller) {
		notify->caller = caller;
		notify->turned_at = now;
	}
	return now < notify->turned_at + TURN_NS;
}

/* It wakes where the scheduler wants it. */
static void answer_apart(
	const struct notify *notify, struct seccomp_notif_resp *response, uint64_t id)
{
	wake_on_our_processor(notify, false);
	answer(notify, response, id);
	wake_on_our_processor(notify, true);
}

/* Under the mutex. */
static void note_taken(struct notify *notify, uint64_t newest)
{
	struct guardian_taken *taken = notify->guardian.taken;

	taken->newest = newest;
	taken->oldest = notify->n_held ? notify->held[0].id : newest;
}

static void see_passed(void *arg, const struct passing_event *event)
{
	struct notify *notify = arg;
	struct observer *observer = notify->run->observer;
	struct observer_passed passed = {
		.call = { .tid = (pid_t)(uint32_t)event->ids },
	};

	if (event->type != PASSING_RESULT) {
		passed.call.arch = BPF_NATIVE_ARCH;
		passed.call.nr = (uint32_t)event->nr;
		memcpy(passed.call.args, event->args, sizeof(passed.call.args));
		passed.ids.pid = (pid_t)(event->ids >> 32);
		passed.ids.ppid = (pid_t)(event->parent >> 32);
		passed.path = (struct str){ event->text, event->text_len - 1 };
		passed.task = event->task;
		passed.closes = event->closes;
		observer_see_passed(observer, &passed);
	}
	if (event->type != PASSING_CALL && event->result >= 0)
		observer_see_success(observer, passed.call.tid, (int)event->result, event->closes);
}

/* Under the mutex. */
static void see_all_passed(struct notify *notify)
{
	if (notify->run->passing)
		passing_drain(notify->run->passing, see_passed, notify);
}

/* Whether the call may go on at once; else the first thread will answer it. */
static bool see_call(struct notify *notify, const struct seccomp_notif *request)
{
	struct saver *saver = notify->run->saver;
	struct observer_call call = {
		.tid = (pid_t)request->pid,
		.arch = request->data.arch,
		.nr = (uint32_t)request->data.nr,
	};

	for (int i = 0; i < 6; i++)
		call.args[i] = request->data.args[i];
	pthread_mutex_lock(&notify->mutex);
	note_taken(notify, request->id);
	see_all_passed(notify);
	uint64_t number = observer_see(notify->run->observer, &call);
	bool goes_on = !number || saver_done(saver, number);
	if (!goes_on) {
		mem_grow(&notify->held, &notify->cap_held, notify->n_held);
		notify->held[notify->n_held++] = (struct held){ request->id, number };
		saver_ask(saver, number);
	}
	pthread_mutex_unlock(&notify->mutex);
	return goes_on;
}

/*
 * We work for microseconds, and somebody waits: with short slices (6.12) the scheduler
 * lets us run before who would compute for milliseconds.  Not to have it costs time, no more.
 */
static void ask_for_short_slices(void)
{
	struct uapi_sched_attr attr = { .size = sizeof(attr), .sched_runtime = SLICE_NS };

	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* While its call waits for us a thread cannot go on; it can be killed, and then is not found. */
static void *serve(void *arg)
{
	struct notify *notify = arg;
	owned_mem struct seccomp_notif *request = mem_zalloc(notify->request_size);
	owned_mem struct seccomp_notif_resp *response = mem_zalloc(notify->response_size);
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, WAKE);
	(void)pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	ask_for_short_slices();
	while (!notify->over) {
		memset(request, 0, notify->request_size);
		/* Fails when it was killed meanwhile, when we are woken, when nobody is left. */
		if (ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV, request) < 0) {
			if (errno != EINTR)
				(void)usleep(STOP_PAUSE_US);
			continue;
		}
		if (!see_call(notify, request))
			continue;
		if (note_turn(notify) && notify->synchronous)
			answer_apart(notify, response, request->id);
		else
			answer(notify, response, request->id);
	}
	return NULL;
}

static void woken(int sig)
{
}

static int start_server(struct notify *notify, struct err *err)
{
	struct sigaction action = { .sa_handler = woken };

	(void)sigaction(WAKE, &action, NULL);
	return thread_start(&notify->server, serve, notify, err);
}

static void stop_server(struct notify *notify)
{
	notify->over = true;
	/* Again and again: it may have looked at over just before the first. */
	while (pthread_tryjoin_np(notify->server, NULL)) {
		(void)pthread_kill(notify->server, WAKE);
		(void)usleep(STOP_PAUSE_US);
	}
}

/* --- the first thread --- */

static void let_go(struct notify *notify)
{
	owned_mem struct seccomp_notif_resp *response = mem_zalloc(notify->response_size);
	struct saver *saver = notify->run->saver;
	eventfd_t count;
	size_t kept = 0;

	if (saver)
		(void)eventfd_read(saver_fd(saver), &count);
	pthread_mutex_lock(&notify->mutex);
	/* What is changed now, others may have asked about meanwhile. */
	see_all_passed(notify);
	if (notify->n_held)
		observer_catch_up(notify->run->observer);
	for (size_t i = 0; i < notify->n_held; i++) {
		if (saver_done(saver, notify->held[i].number)) {
			answer(notify, response, notify->held[i].id);
			continue;
		}
		saver_ask(saver, notify->held[i].number);
		notify->held[kept++] = notify->held[i];
	}
	notify->n_held = kept;
	note_taken(notify, notify->guardian.taken->newest);
	pthread_mutex_unlock(&notify->mutex);
}

static void reap(struct notify *notify)
{
	pthread_mutex_lock(&notify->mutex);
	see_all_passed(notify);
	observer_reap(notify->run->observer);
	pthread_mutex_unlock(&notify->mutex);
}

static void look_around(struct notify *notify)
{
	pthread_mutex_lock(&notify->mutex);
	see_all_passed(notify);
	pthread_mutex_unlock(&notify->mutex);
}

static void see_children(struct notify *notify)
{
	struct signalfd_siginfo info;
	int status;

	while (read(notify->children, &info, sizeof(info)) == sizeof(info))
		;
	if (notify->run->ended_at ||
		waitpid(notify->run->launch->pid, &status, WNOHANG | WUNTRACED) <= 0)
		return;
	if (WIFSTOPPED(status)) {
		if (!notify->run->in_group)
			launch_stop_along(notify->run->launch, WSTOPSIG(status));
		return;
	}
	engine_ended(notify->run, status);
}

static void watch(struct notify *notify)
{
	const struct passing *passing = notify->run->passing;
	struct pollfd fds[] = {
		{ .fd = notify->listener, .events = 0 }, /* POLLHUP comes unasked */
		{ .fd = saver_fd(notify->run->saver), .events = POLLIN },
		{ .fd = tracees_fd(notify->run->observer->tracees), .events = POLLIN },
		{ .fd = notify->children, .events = POLLIN },
		{ .fd = passing ? passing_fd(passing) : -1, .events = POLLIN },
	};

	while (!(fds[0].revents & (POLLHUP | POLLERR))) {
		const char *why = engine_why_leave(notify->run);

		if (why) {
			reasons_add(notify->run->observer->reasons, "%s", why);
			notify->run->left = true;
			break;
		}
		int n = poll(fds, sizeof(fds) / sizeof(fds[0]), ENGINE_LOOK_AROUND_MS);
		if (n < 0) {
			fds[0].revents = 0;
			continue;
		}
		if (fds[4].revents)
			passing_wakes(passing);
		if (!n || fds[4].revents)
			look_around(notify);
		if (fds[1].revents)
			let_go(notify);
		if (fds[2].revents)
			reap(notify);
		if (fds[3].revents)
			see_children(notify);
	}
}

static int open_children(struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_errno(err, "make a signal descriptor") : fd;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static int serve_all(struct notify *notify, struct err *err)
{
	struct seccomp_notif_sizes sizes;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return err_errno(err, "ask for the size of notifications");
	notify->request_size = larger(sizes.seccomp_notif, sizeof(struct seccomp_notif));
	notify->response_size = larger(sizes.seccomp_notif_resp, sizeof(struct seccomp_notif_resp));
	/* Kernels before 6.6 are slower without it, no more. */
	notify->synchronous = ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
				      SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) == 0;
	int r = guardian_start(&notify->guardian, notify->listener, notify->request_size,
		notify->response_size, err);
	pthread_mutex_init(&notify->mutex, NULL);
	if (r >= 0)
		r = start_server(notify, err);
	if (r >= 0) {
		watch(notify);
		stop_server(notify);
		/* Nobody else would answer what has been taken from the kernel already. */
		if (notify->run->saver)
			saver_wait_all(notify->run->saver);
		let_go(notify);
		/* Whom we leave behind does as it likes. */
		observer_finish(notify->run->observer);
	}
	guardian_end(&notify->guardian, notify->run->left);
	pthread_mutex_destroy(&notify->mutex);
	free(notify->held);
	return r;
}

static int run_command(struct engine_run *run, struct err *err)
{
	struct notify notify = { .run = run, .listener = -1, .guardian = GUARDIAN_INIT };
	owned_fd int children = open_children(err);

	if (children < 0) {
		launch_abandon(run->launch);
		return children;
	}
	owned_fd int listener = launch_go(run->launch, err);
	if (listener == 0)
		listener = launch_answer(run->launch, err);
	if (listener < 0) {
		(void)waitpid(run->launch->pid, NULL, 0);
		return listener;
	}
	if (run->in_group)
		launch_ignore_signals();
	else
		launch_forward_signals(run->launch);
	notify.listener = listener;
	notify.children = children;
	int r = serve_all(&notify, err);
	/* Unanswered, it would wait for ever. */
	if (r < 0)
		(void)kill(run->launch->pid, SIGKILL);
	if (!run->ended_at)
		while (waitpid(run->launch->pid, &run->status, 0) < 0 && errno == EINTR)
			;
	return r;
}

static int prepare(void *arg)
{
	const struct engine_run *run = arg;

	return filter_install(SECCOMP_RET_USER_NOTIF, run->listings, false);
}

static int probe(struct engine_run *unused, struct err *err)
{
	int r = launch_try(SECCOMP_RET_USER_NOTIF, err);

	if (r < 0 && err->errno_value == EBUSY)
		return err_set(err, ERR_UNSUPPORTED,
			"somebody is notified of this process's system calls already");
	return r;
}

const struct engine engine_notify = {
	.name = "notify",
	.probe = probe,
	.prepare = prepare,
	.run = run_command,
};
