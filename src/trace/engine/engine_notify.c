/*
 * The engine notify, which uses seccomp user notification.  A system call in the table of
 * syscalls.c stops its thread until strata answers that the call may go on.
 *
 * The kernel wakes strata on the processor that made the call, and then wakes the calling thread on
 * the same processor.  So a stop takes a fraction of the time that it takes with ptrace.  The
 * kernel can do this only while a thread of strata waits in the kernel for the next call.  So one
 * thread, the server, does nothing but take calls, show them to the observer and answer them.  (One
 * server for each processor was no faster: the servers had to take turns, and found the data in the
 * cache of another processor.)
 *
 * The engine bpf also uses this code, with run->passing set.  In that engine a call that changes
 * nothing does not stop its thread, and eBPF programs put the call into a ring.  strata reads the
 * ring before it examines a call that has stopped, and again before that call goes on.
 *
 * The first thread does all other work: it handles processes that have ended, calls that wait for
 * the saver, and the end of the trace, when no process with the filter is left.
 */
#include <errno.h>
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

#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/thread.h"
#include "core/uapi.h"
#include "core/when.h"
#include "sandbox/bpf.h"
#include "trace/engine/engine.h"
#include "trace/engine/filter.h"
#include "trace/engine/guardian.h"

/* signal that interrupts the server in the kernel; by default, a process ignores it */
#define WAKE SIGURG

#define STOP_PAUSE_US 100
#define SLICE_NS 100000
/* a process that has been the only caller for this long does not take turns with another */
#define TURN_NS WHEN_MS

/* A call that is held until the saver has done a job. */
struct held {
	uint64_t id;
	uint64_t number;
};

struct notify {
	struct engine_run *run;
	int listener;
	int children; /* signalfd for SIGCHLD */
	size_t request_size, response_size;
	pthread_mutex_t mutex; /* protects the observer and 'held' */
	struct held *held;
	size_t n_held, cap_held;
	_Atomic bool over;
	/* the kernel can wake the caller on the processor of the server (see note_turn) */
	bool synchronous;
	pid_t caller;      /* the process that made the last call */
	int64_t turned_at; /* time at which another process became the caller */
	struct guardian guardian;
	pthread_t server;
};

static void answer_call(
	const struct notify *notify, struct seccomp_notif_resp *response, uint64_t id)
{
	memset(response, 0, notify->response_size);
	response->id = id;
	response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	/* ENOENT means that the thread was killed before it got the answer */
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
 * Record which process makes the present call.  Returns true if several processes make calls in
 * turn.
 *
 * A process that is woken on the server's processor stays on that processor.  This is best for a
 * single process that makes many calls.  But if several processes compute between their calls, all
 * of them would be drawn to that processor, and the other processors would be idle for
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

/* Answer a call, and let the scheduler choose the processor on which the caller wakes up. */
static void answer_on_any_processor(
	const struct notify *notify, struct seccomp_notif_resp *response, uint64_t id)
{
	wake_on_our_processor(notify, false);
	answer_call(notify, response, id);
	wake_on_our_processor(notify, true);
}

/* Record for the guardian which calls have no answer yet.  The caller must hold the mutex. */
static void note_taken(struct notify *notify, uint64_t newest)
{
	struct guardian_taken *taken = notify->guardian.taken;

	taken->newest = newest;
	taken->oldest = notify->n_held ? notify->held[0].id : newest;
}

static void see_passed_event(void *arg, const struct passing_event *event)
{
	struct notify *notify = arg;
	struct observer *observer = notify->run->observer;
	struct passed_call passed = {
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

/* Show all events in the ring to the observer.  The caller must hold the mutex. */
static void see_all_passed(struct notify *notify)
{
	if (notify->run->passing)
		passing_drain(notify->run->passing, see_passed_event, notify);
}

/*
 * Show a call to the observer.  Returns true if the call may go on at once.  Otherwise the first
 * thread of strata answers the call later.
 */
static bool see_call(struct notify *notify, const struct seccomp_notif *request)
{
	struct saver *saver = notify->run->saver;
	struct traced_call call = {
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
 * Request short time slices (Linux 6.12).  The server works for microseconds while a thread waits
 * for it.  With short slices the scheduler prefers the server to threads that compute for
 * milliseconds.  On older kernels the request fails, and tracing is slower.
 */
static void ask_for_short_slices(void)
{
	struct uapi_sched_attr attr = { .size = sizeof(attr), .sched_runtime = SLICE_NS };

	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

/*
 * The server thread.  A thread whose call is not answered yet cannot go on, but it may be killed.
 * In that case the observer does not find the thread.
 */
static void *server_thread(void *arg)
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
		/*
		 * The ioctl fails if the calling thread was killed, if the signal WAKE has arrived,
		 * or if no process with the filter is left.
		 */
		if (ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV, request) < 0) {
			if (errno != EINTR)
				(void)usleep(STOP_PAUSE_US);
			continue;
		}
		if (!see_call(notify, request))
			continue;
		if (note_turn(notify) && notify->synchronous)
			answer_on_any_processor(notify, response, request->id);
		else
			answer_call(notify, response, request->id);
	}
	return NULL;
}

static void ignore_wake(int sig)
{
}

static void stop_server(struct notify *notify)
{
	notify->over = true;
	/*
	 * Send the signal again and again, since a signal that arrives just before the server
	 * enters the kernel has no effect.
	 */
	while (pthread_tryjoin_np(notify->server, NULL)) {
		(void)pthread_kill(notify->server, WAKE);
		(void)usleep(STOP_PAUSE_US);
	}
}

/* --- the first thread --- */

static void answer_held(struct notify *notify)
{
	owned_mem struct seccomp_notif_resp *response = mem_zalloc(notify->response_size);
	struct saver *saver = notify->run->saver;
	eventfd_t count;
	size_t kept = 0;

	if (saver)
		(void)eventfd_read(saver_fd(saver), &count);
	pthread_mutex_lock(&notify->mutex);
	/*
	 * The held calls may change files that were named before.  So look at all those files
	 * before the held calls go on.
	 */
	see_all_passed(notify);
	if (notify->n_held)
		observer_catch_up(notify->run->observer);
	for (size_t i = 0; i < notify->n_held; i++) {
		if (saver_done(saver, notify->held[i].number)) {
			answer_call(notify, response, notify->held[i].id);
			continue;
		}
		saver_ask(saver, notify->held[i].number);
		notify->held[kept++] = notify->held[i];
	}
	notify->n_held = kept;
	note_taken(notify, notify->guardian.taken->newest);
	pthread_mutex_unlock(&notify->mutex);
}

/*
 * Show all events in the ring to the observer.  If 'ended' is set, the observer also records which
 * processes have ended.
 */
static void see_ring(struct notify *notify, bool ended)
{
	pthread_mutex_lock(&notify->mutex);
	see_all_passed(notify);
	if (ended)
		observer_reap(notify->run->observer);
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

static void watch_until_end(struct notify *notify)
{
	const struct passing *passing = notify->run->passing;
	struct pollfd fds[] = {
		/* POLLHUP is reported without being requested */
		{ .fd = notify->listener, .events = 0 },
		{ .fd = saver_fd(notify->run->saver), .events = POLLIN },
		{ .fd = tracees_fd(notify->run->observer->shared.tracees), .events = POLLIN },
		{ .fd = notify->children, .events = POLLIN },
		{ .fd = passing ? passing_fd(passing) : -1, .events = POLLIN },
	};

	while (!(fds[0].revents & (POLLHUP | POLLERR))) {
		const char *why = engine_why_leave(notify->run);

		if (why) {
			reasons_add(notify->run->observer->shared.reasons, "%s", why);
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
			see_ring(notify, false);
		if (fds[1].revents)
			answer_held(notify);
		if (fds[2].revents)
			see_ring(notify, true);
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

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

static int serve_command(struct notify *notify, struct err *err)
{
	const struct sigaction action = { .sa_handler = ignore_wake };
	struct seccomp_notif_sizes sizes;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return err_errno(err, "ask for the size of notifications");
	notify->request_size = max_size(sizes.seccomp_notif, sizeof(struct seccomp_notif));
	notify->response_size =
		max_size(sizes.seccomp_notif_resp, sizeof(struct seccomp_notif_resp));
	/* before Linux 6.6 this call fails, and tracing is slower */
	notify->synchronous = ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
				      SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) == 0;
	int r = guardian_start(&notify->guardian, notify->listener, notify->request_size,
		notify->response_size, err);
	pthread_mutex_init(&notify->mutex, NULL);
	(void)sigaction(WAKE, &action, NULL);
	if (r >= 0)
		r = thread_start(&notify->server, server_thread, notify, err);
	if (r >= 0) {
		watch_until_end(notify);
		stop_server(notify);
		/*
		 * The server has ended.  So this thread answers the calls that the server has taken
		 * from the kernel.
		 */
		if (notify->run->saver)
			saver_wait_all(notify->run->saver);
		answer_held(notify);
		/* strata does not see what processes that still run change from here on */
		observer_finish(notify->run->observer);
	}
	guardian_end(&notify->guardian, notify->run->left);
	pthread_mutex_destroy(&notify->mutex);
	free(notify->held);
	return r;
}

static int notify_run(struct engine_run *run, struct err *err)
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
		(void)child_wait(run->launch->pid);
		return listener;
	}
	launch_forward_signals(run->launch, run->in_group);
	notify.listener = listener;
	notify.children = children;
	int r = serve_command(&notify, err);
	/*
	 * After an error no thread answers calls, and the command would wait for an answer for
	 * ever.  So kill the command.
	 */
	if (r < 0)
		(void)kill(run->launch->pid, SIGKILL);
	if (!run->ended_at)
		while (waitpid(run->launch->pid, &run->status, 0) < 0 && errno == EINTR)
			;
	return r;
}

static int notify_prepare(void *arg)
{
	const struct engine_run *run = arg;

	return filter_install(SECCOMP_RET_USER_NOTIF, run->listings, false);
}

static int notify_probe(struct engine_run *unused, struct err *err)
{
	int r = launch_try(SECCOMP_RET_USER_NOTIF, err);

	if (r < 0 && err->errno_value == EBUSY)
		return err_set(err, ERR_UNSUPPORTED,
			"another process is notified of this process's system calls already");
	return r;
}

const struct engine engine_notify = {
	.name = "notify",
	.probe = notify_probe,
	.prepare = notify_prepare,
	.run = notify_run,
};
