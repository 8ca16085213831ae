#include "ops/apart.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"

struct apart {
	int fd;
};

/* A message: nothing but this for "ready", and at the end with the result behind it. */
struct answer {
	bool ended;
	int r;
	struct err err;
};

void apart_ready(struct apart *apart)
{
	struct answer ready = { 0 };

	(void)!write(apart->fd, &ready, sizeof(ready));
}

static _Noreturn void be_child(
	const struct apart_work *work, struct apart *apart, const sigset_t *mask)
{
	char *message = mem_zalloc(sizeof(struct answer) + work->size);
	struct answer *answer = (struct answer *)(void *)message;

	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	answer->r = work->run(work->arg, apart, message + sizeof(*answer), &answer->err);
	answer->ended = true;
	(void)!write(apart->fd, message, sizeof(*answer) + work->size);
	_exit(0);
}

/* From the terminal it has come to the child as well. */
static void pass_on(int signals, pid_t child)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_code == SI_QUEUE)
			(void)sigqueue(child, (int)info.ssi_signo,
				(union sigval){ .sival_int = info.ssi_int });
		else if (info.ssi_code != SI_KERNEL)
			(void)kill(child, (int)info.ssi_signo);
}

/* Listen to the child until it has said all. */
static int listen_to(const struct apart_work *work, struct apart *apart, int signals, pid_t child,
	void *result, struct err *err)
{
	owned_mem char *message = mem_alloc(sizeof(struct answer) + work->size);
	struct answer *answer = (struct answer *)(void *)message;
	struct pollfd ready[2] = {
		{ .fd = apart->fd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	bool told = false;

	for (;;) {
		if (poll(ready, 2, -1) < 0)
			continue;
		if (ready[1].revents)
			pass_on(signals, child);
		if (!ready[0].revents)
			continue;
		ssize_t n = read(apart->fd, message, sizeof(*answer) + work->size);
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

int apart_run(const struct apart_work *work, void *result, struct err *err)
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
		be_child(work, &(struct apart){ ends[1] }, &old);
	}
	int r = child < 0 ? err_errno(err, "start a child") : 0;
	close_fd(&ends[1]);
	if (r >= 0) {
		r = listen_to(work, &(struct apart){ ends[0] }, signals, child, result, err);
		(void)child_wait(child);
	} else {
		work->ready(work->arg);
	}
	close_fd(&ends[0]);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	return r;
}
