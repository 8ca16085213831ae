/*
 * ptrace: where user notification is not to be had.  With a seccomp filter only the calls
 * of the table stop; where even that cannot be, or somebody else's filter comes first
 * (notification wins over tracing), every call does.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/engine.h"
#include "trace/filter.h"

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |  \
		PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD)

#define SYSCALL_STOP (SIGTRAP | 0x80)

/* Whom we trace.  Other children, whom a program before us may have left, are not waited for. */
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

/* The end of who was born may have been seen before its birth. */
static bool is_there(pid_t tid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ==
	       0;
}

static void go_on(const struct engine_run *run, pid_t tid, int sig)
{
	/* ESRCH: killed meanwhile; its end is still to come. */
	(void)ptrace(run->filtered ? PTRACE_CONT : PTRACE_SYSCALL, tid, 0, (void *)(long)sig);
}

static void see_call(struct engine_run *run, pid_t tid)
{
	struct __ptrace_syscall_info info;
	struct observer_call call = { .tid = tid };
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
		go_on(run, tid, sig);
		return;
	case PTRACE_EVENT_SECCOMP:
		see_call(run, tid);
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &other) == 0 && is_there((pid_t)other))
			add_traced(traced, (pid_t)other);
		break;
	case PTRACE_EVENT_EXEC:
		/* A thread that executes takes its process's number; its own ends unsaid. */
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
	go_on(run, tid, 0);
}

static void see_end(struct engine_run *run, pid_t tid, int status)
{
	struct process *process = tracees_by_pid(run->observer->tracees, tid);

	tracees_end(run->observer->tracees, tid);
	if (process) {
		process->status = status;
		process->ended = true;
	}
	if (tid == run->launch->pid)
		engine_ended(run, status);
	observer_reap(run->observer);
}

/* Without us as their tracer they could not go on: every call of the table would fail. */
static void end_all(struct engine_run *run, const struct traced *traced, const char *why)
{
	reasons_add(run->observer->reasons, "%s; traced by ptrace they ended with it", why);
	for (size_t i = 0; i < traced->n; i++)
		(void)kill(traced->tids[i], SIGKILL);
	run->left = true;
}

/* As waitpid; 0: nobody yet.  When the command has ended, somebody may want us to end, too. */
static pid_t wait_for_one(struct engine_run *run, const struct traced *traced, int *status)
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
		end_all(run, traced, why);
		return 0;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigtimedwait(&child, NULL, &nap);
	return 0;
}

static void serve(struct engine_run *run)
{
	struct traced traced = { 0 };
	int status;

	add_traced(&traced, run->launch->pid);
	while (traced.n) {
		pid_t tid = wait_for_one(run, &traced, &status);

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

/* Without a filter its calls stop from the moment it has stopped once and been let go so. */
static int stop_first(const struct engine_run *run, struct err *err)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, run->launch->pid, 0, 0) < 0 ||
		waitpid(run->launch->pid, &status, __WALL) < 0)
		return err_errno(err, "stop the command before it starts");
	go_on(run, run->launch->pid, 0);
	return 0;
}

static int seize(const struct engine_run *run, struct err *err)
{
	if (ptrace(PTRACE_SEIZE, run->launch->pid, 0, (void *)(long)OPTIONS) < 0) {
		err_errno(err, "trace the command");
		return err_hint(err, "is it run by a debugger or strace already?");
	}
	return run->filtered ? 0 : stop_first(run, err);
}

/* For sigtimedwait; the command has been forked. */
static void keep_child_signals(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
}

static int run_command(struct engine_run *run, struct err *err)
{
	int r = seize(run, err);

	if (r >= 0)
		r = launch_go(run->launch, err);
	if (r < 0) {
		launch_abandon(run->launch);
		return r;
	}
	if (run->in_group)
		launch_ignore_signals();
	else
		launch_forward_signals(run->launch);
	keep_child_signals();
	serve(run);
	return 0;
}

static int prepare(void *arg)
{
	const struct engine_run *run = arg;

	return run->filtered ? filter_install(SECCOMP_RET_TRACE, run->listings, false) : 0;
}

/* Who can have no listener has one above him, whose answer would hide calls from us. */
static int probe(struct engine_run *run, struct err *err)
{
	struct err why = { 0 };

	run->filtered =
		(launch_try(SECCOMP_RET_USER_NOTIF, &why) == 0 || why.errno_value != EBUSY) &&
		launch_try(SECCOMP_RET_TRACE, &why) == 0;
	return 0;
}

const struct engine engine_ptrace = {
	.name = "ptrace",
	.probe = probe,
	.prepare = prepare,
	.run = run_command,
};
