/*
 * The engine ptrace, for machines without user notification.
 *
 * With a seccomp filter, only the calls in the table of syscalls.c stop.  Without a filter, every
 * call stops.  The engine uses no filter if the kernel refuses filters.  It also uses none if
 * strata itself runs under a filter with user notification, whose answers would take precedence
 * over stops for ptrace.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "core/mem.h"
#include "core/when.h"
#include "trace/engine/engine.h"
#include "trace/engine/filter.h"

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |  \
		PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD)

#define SYSCALL_STOP (SIGTRAP | 0x80)

/*
 * The threads that are being traced.  A list is needed because this process may have other
 * children: a program may have forked children, and then executed strata in its own process.
 */
struct traced {
	pid_t *tids;
	size_t n, cap;
};

static void add_traced(struct traced *traced, pid_t tid)
{
	for (size_t i = traced->n; i-- > 0;)
		if (traced->tids[i] == tid)
			return;
	mem_grow(&traced->tids, &traced->cap, traced->n);
	traced->tids[traced->n++] = tid;
}

static void drop_traced(struct traced *traced, pid_t tid)
{
	for (size_t i = traced->n; i-- > 0;)
		if (traced->tids[i] == tid) {
			traced->tids[i] = traced->tids[--traced->n];
			return;
		}
}

/*
 * Whether tid is a child that has not been waited for.  The kernel may report the end of a new
 * thread before its start.  When the start is reported, such a thread is no longer a child.
 */
static bool is_child(pid_t tid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ==
	       0;
}

static void resume_thread(const struct engine_run *run, pid_t tid, int sig)
{
	/* ESRCH means that the thread was killed; the kernel will report its end */
	(void)ptrace(run->filtered ? PTRACE_CONT : PTRACE_SYSCALL, tid, 0, (void *)(long)sig);
}

static void see_call(struct engine_run *run, pid_t tid)
{
	struct __ptrace_syscall_info info;
	struct traced_call call = { .tid = tid };
	const uint64_t *args;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_SECCOMP) {
		call.nr = (uint32_t)info.seccomp.nr;
		args = (const uint64_t *)info.seccomp.args;
	} else if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		call.nr = (uint32_t)info.entry.nr;
		args = (const uint64_t *)info.entry.args;
	} else {
		return;
	}
	call.arch = info.arch;
	for (int i = 0; i < 6; i++)
		call.args[i] = args[i];
	uint64_t number = observer_see(run->observer, &call);
	if (number)
		saver_wait(run->saver, number);
}

static bool stops_a_group(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void see_stop(struct engine_run *run, struct traced *traced, pid_t tid, int status)
{
	int sig = WSTOPSIG(status);
	int event = status >> 16;
	unsigned long other;

	switch (event) {
	case 0:
		if (sig == SYSCALL_STOP) {
			see_call(run, tid);
			sig = 0;
		}
		resume_thread(run, tid, sig);
		return;
	case PTRACE_EVENT_SECCOMP:
		see_call(run, tid);
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &other) == 0 && is_child((pid_t)other))
			add_traced(traced, (pid_t)other);
		break;
	case PTRACE_EVENT_EXEC:
		/*
		 * When a thread executes a program, its thread id becomes the process id.  The
		 * kernel does not report the end of the old thread id, so that id is removed here.
		 */
		if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &other) == 0 && (pid_t)other != tid)
			drop_traced(traced, (pid_t)other);
		break;
	case PTRACE_EVENT_STOP:
		if (stops_a_group(sig)) {
			(void)ptrace(PTRACE_LISTEN, tid, 0, 0);
			if (tid == run->launch->pid && !run->in_group)
				launch_stop_along(run->launch, sig);
			return;
		}
		break;
	}
	resume_thread(run, tid, 0);
}

static void see_end(struct engine_run *run, pid_t tid, int status)
{
	struct process *process = tracees_by_pid(run->observer->shared.tracees, tid);

	tracees_end(run->observer->shared.tracees, tid);
	if (process) {
		process->status = status;
		process->ended = true;
	}
	if (tid == run->launch->pid)
		engine_ended(run, status);
	observer_reap(run->observer);
}

/*
 * Kill all traced processes.  Without a tracer these processes could not work, since every call in
 * the table of syscalls.c would fail.
 */
static void kill_all(struct engine_run *run, const struct traced *traced, const char *why)
{
	reasons_add(run->observer->shared.reasons,
		"%s; they were killed, since they were traced by ptrace", why);
	for (size_t i = 0; i < traced->n; i++)
		(void)kill(traced->tids[i], SIGKILL);
	run->left = true;
}

/*
 * Wait for an event.  The result and *status are those of waitpid; the result is 0 if there is no
 * event yet.  If the command has ended, and there is a reason not to wait for its other processes
 * (engine_why_leave), these processes are killed.
 */
static pid_t wait_for_event(struct engine_run *run, const struct traced *traced, int *status)
{
	const struct timespec nap = { .tv_nsec = ENGINE_LOOK_AROUND_MS * WHEN_MS };
	sigset_t child;

	if (!run->ended_at || run->left)
		return waitpid(-1, status, __WALL);
	pid_t tid = waitpid(-1, status, __WALL | WNOHANG);
	if (tid)
		return tid;
	const char *why = engine_why_leave(run);
	if (why) {
		kill_all(run, traced, why);
		return 0;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigtimedwait(&child, NULL, &nap);
	return 0;
}

static void ptrace_until_end(struct engine_run *run)
{
	struct traced traced = { 0 };
	int status;

	add_traced(&traced, run->launch->pid);
	while (traced.n) {
		pid_t tid = wait_for_event(run, &traced, &status);

		if (tid < 0 && errno != EINTR)
			break;
		if (tid <= 0)
			continue;
		if (WIFSTOPPED(status)) {
			add_traced(&traced, tid);
			see_stop(run, &traced, tid, status);
		} else {
			drop_traced(&traced, tid);
			see_end(run, tid, status);
		}
	}
	free(traced.tids);
}

/*
 * Stop the thread once before it executes the command.  If there is no filter, calls stop only
 * after the tracer has resumed the thread with PTRACE_SYSCALL.
 */
static int stop_once(const struct engine_run *run, struct err *err)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, run->launch->pid, 0, 0) < 0 ||
		waitpid(run->launch->pid, &status, __WALL) < 0)
		return err_errno(err, "stop the command before it starts");
	resume_thread(run, run->launch->pid, 0);
	return 0;
}

static int seize_command(const struct engine_run *run, struct err *err)
{
	if (ptrace(PTRACE_SEIZE, run->launch->pid, 0, (void *)(long)OPTIONS) < 0) {
		err_errno(err, "trace the command");
		return err_hint(err, "is it run by a debugger or strace already?");
	}
	return run->filtered ? 0 : stop_once(run, err);
}

/*
 * Block SIGCHLD, so that sigtimedwait can receive it.  The command does not inherit the blocked
 * signal, since it was forked earlier.
 */
static void block_child_signals(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
}

static int ptrace_run(struct engine_run *run, struct err *err)
{
	int r = seize_command(run, err);

	if (r >= 0)
		r = launch_go(run->launch, err);
	if (r < 0) {
		launch_abandon(run->launch);
		return r;
	}
	launch_forward_signals(run->launch, run->in_group);
	block_child_signals();
	ptrace_until_end(run);
	return 0;
}

static int ptrace_prepare(void *arg)
{
	const struct engine_run *run = arg;

	return run->filtered ? filter_install(SECCOMP_RET_TRACE, run->listings, false) : 0;
}

/*
 * Decide whether to use a filter.  EBUSY means that this process already has a filter with a
 * listener.  The engine then uses no filter of its own, since the answers of that listener would
 * hide calls from such a filter.
 */
static int ptrace_probe(struct engine_run *run, struct err *err)
{
	struct err why = { 0 };

	run->filtered =
		(launch_try(SECCOMP_RET_USER_NOTIF, &why) == 0 || why.errno_value != EBUSY) &&
		launch_try(SECCOMP_RET_TRACE, &why) == 0;
	return 0;
}

const struct engine engine_ptrace = {
	.name = "ptrace",
	.probe = ptrace_probe,
	.prepare = ptrace_prepare,
	.run = ptrace_run,
};
