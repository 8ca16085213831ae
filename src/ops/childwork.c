#include "ops/childwork.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"

/* A message of the child.  The last message has 'ended' set, and is followed by the result. */
struct answer {
	bool ended;
	int r;
	struct err err;
};

void childwork_ready(int parent)
{
	struct answer ready = { 0 };

	(void)!write(parent, &ready, sizeof(ready));
}

static _Noreturn void run_and_answer(const struct childwork *work, int parent, const sigset_t *mask)
{
	char *message = mem_zalloc(sizeof(struct answer) + work->size);
	struct answer *answer = (struct answer *)(void *)message;

	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	answer->r = work->run(work->arg, parent, message + sizeof(*answer), &answer->err);
	answer->ended = true;
	(void)!write(parent, message, sizeof(*answer) + work->size);
	_exit(0);
}

/*
 * Pass signals on to the child, except for signals from the terminal (SI_KERNEL), which reach the
 * child by themselves.
 */
static void forward_signals(int signals, pid_t child)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_code == SI_QUEUE)
			(void)sigqueue(child, (int)info.ssi_signo,
				(union sigval){ .sival_int = info.ssi_int });
		else if (info.ssi_code != SI_KERNEL)
			(void)kill(child, (int)info.ssi_signo);
}

static int read_answers(const struct childwork *work, int socket, int signals, pid_t child,
	void *result, struct err *err)
{
	owned_mem char *message = mem_alloc(sizeof(struct answer) + work->size);
	struct answer *answer = (struct answer *)(void *)message;
	struct pollfd ready[2] = {
		{ .fd = socket, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	bool told = false;

	for (;;) {
		if (poll(ready, 2, -1) < 0)
			continue;
		if (ready[1].revents)
			forward_signals(signals, child);
		if (!ready[0].revents)
			continue;
		ssize_t n = read(socket, message, sizeof(*answer) + work->size);
		if (!told)
			work->ready(work->arg);
		told = true;
		if (n < (ssize_t)sizeof(*answer))
			return err_set(err, ERR_SYSTEM, "a part of strata was killed");
		if (answer->ended)
			break;
	}
	memcpy(result, message + sizeof(*answer), work->size);
	if (answer->r < 0)
		*err = answer->err;
	return answer->r;
}

int childwork_run(const struct childwork *work, void *result, struct err *err)
{
	int ends[2];
	sigset_t set, old;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	child_end_signals(&set);
	sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	owned_fd int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	pid_t child = signals < 0 ? -1 : child_fork();
	if (child == 0) {
		close_fd(&ends[0]);
		run_and_answer(work, ends[1], &old);
	}
	int r = child < 0 ? err_errno(err, "start a child") : 0;
	close_fd(&ends[1]);
	if (r >= 0) {
		r = read_answers(work, ends[0], signals, child, result, err);
		(void)child_wait(child);
	} else {
		work->ready(work->arg);
	}
	close_fd(&ends[0]);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	return r;
}
