#include "core/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

pid_t child_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		child_die_with(parent);
	return pid;
}

void child_die_with(pid_t parent)
{
	/* If the parent was killed before this prctl, the kernel will send no signal. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
}

int child_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

struct answer {
	int r;
	struct err err;
};

int child_do(int (*work)(void *arg, struct err *err), void *arg, struct err *err)
{
	struct answer answer = { 0 };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	owned_fd int ours = ends[0], theirs = ends[1];
	pid_t pid = child_fork();
	if (pid < 0)
		return err_errno(err, "start a child");
	if (pid == 0) {
		answer.r = work(arg, &answer.err);
		(void)at_write_all(theirs, &answer, sizeof(answer));
		_exit(0);
	}
	close_fd(&theirs);
	ssize_t n;
	do
		/* a message of so few bytes arrives in one piece */
		n = read(ours, &answer, sizeof(answer));
	while (n < 0 && errno == EINTR);
	(void)child_wait(pid);
	if (n != (ssize_t)sizeof(answer))
		return err_set(err, ERR_SYSTEM, "a part of strata was killed");
	if (answer.r < 0)
		*err = answer.err;
	return answer.r;
}

struct visit {
	int (*work)(void *arg, struct err *err);
	void *arg;
	struct answer answer;
	bool ended;
};

static int visitor_main(void *arg)
{
	struct visit *visit = arg;

	visit->answer.r = visit->work(visit->arg, &visit->answer.err);
	visit->ended = true;
	_exit(0);
}

int child_visit(int (*work)(void *arg, struct err *err), void *arg, struct err *err)
{
	_Alignas(16) char stack[CHILD_VISITOR_STACK];
	struct visit visit = { .work = work, .arg = arg };
	pid_t pid = clone(visitor_main, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &visit);

	if (pid < 0)
		return err_errno(err, "start a child");
	(void)child_wait(pid);
	if (!visit.ended)
		return err_set(err, ERR_SYSTEM, "a part of strata was killed");
	if (visit.answer.r < 0)
		*err = visit.answer.err;
	return visit.answer.r;
}

void child_end_signals(sigset_t *set)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction now;

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
}
