#include "ops/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* Wait for the child; a signal from the terminal has come to it as well. */
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

static _Noreturn void share_fate(int status)
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
	pid_t parent = getpid();

	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&watched, passed_on[i]);
	(void)sigprocmask(SIG_BLOCK, &watched, &before);
	pid_t child = fork();
	if (child > 0) {
		int status = wait_for(child, &watched);

		if (WIFSIGNALED(status))
			clear(arg);
		share_fate(status);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return err_errno(err, "start a child");
	/* The parent may have gone before we asked to be told. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	return 0;
}
