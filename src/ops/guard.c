#include "ops/guard.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child.h"

/*
 * Wait for the child and pass signals on to it.  Signals from the terminal are not passed on, since
 * the child gets them itself.
 */
static int wait_for(pid_t child, const sigset_t *watched)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(watched, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD) {
			if (info.si_code != SI_KERNEL)
				(void)kill(child, info.si_signo);
			continue;
		}
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
	}
}

static _Noreturn void end_like(int status)
{
	sigset_t all;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	(void)signal(WTERMSIG(status), SIG_DFL);
	sigfillset(&all);
	(void)sigprocmask(SIG_UNBLOCK, &all, NULL);
	(void)raise(WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

int guard_split(void (*clear)(void *arg), void *arg, struct err *err)
{
	sigset_t watched, before;

	child_end_signals(&watched);
	sigaddset(&watched, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &watched, &before);
	pid_t child = child_fork();
	if (child > 0) {
		int status = wait_for(child, &watched);

		if (WIFSIGNALED(status))
			clear(arg);
		end_like(status);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return child < 0 ? err_errno(err, "start a child") : 0;
}
