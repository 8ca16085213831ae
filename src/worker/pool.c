#include "worker/pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/message.h"
#include "worker/server.h"

/*
 * The pool starts new workers only when nothing has happened for this many ms.  So a worker that
 * begins to serve gets the processor first.
 */
#define START_AFTER_MS 5
#define READY_MS 30000
#define POOL_ENDS 1 /* differs from every exit status of workerrun_confine */

/* A worker of the pool.  It serves a connection or waits for one. */
struct member {
	pid_t pid;
	int control; /* the pool's end of the socket to the worker; -1: the worker serves */
	bool ready;
};

struct pool {
	const struct workerrun *worker;
	unsigned size;
	struct member members[POOL_MAX + POOL_BUSY_MAX];
	size_t n;
	int listener, signals;
	sigset_t before; /* signal mask of the pool's process before pool_run */
};

/* The message of a worker that is ready, or that cannot become ready. */
struct hello {
	int r;
	struct err err;
};

static void release_pool(struct pool *pool)
{
	for (size_t i = 0; i < pool->n; i++) {
		struct member *member = &pool->members[i];

		if (member->control >= 0)
			(void)kill(member->pid, SIGKILL);
		close_fd(&member->control);
	}
	close_fd(&pool->listener);
	close_fd(&pool->signals);
	(void)sigprocmask(SIG_SETMASK, &pool->before, NULL);
}

/* Do the whole work of a worker.  Returns the worker's exit status. */
static int be_worker(const struct pool *pool, int control)
{
	struct hello hello = { 0 };
	char go;
	int fd;

	(void)sigprocmask(SIG_SETMASK, &pool->before, NULL);
	hello.r = workerrun_confine(pool->worker, control, &hello.err);
	/*
	 * The pool does not read this message if it has already passed a connection to this worker.
	 */
	(void)message_send(control, &hello, sizeof(hello), NULL, 0);
	if (hello.r)
		return 1;
	if (message_receive(control, &go, 1, &fd, 1, -1) <= 0 || fd < 0)
		return 0;
	close_fd(&control);
	int r = workerrun_serve(pool->worker, fd, fd, &hello.err);
	if (r < 0)
		server_refuse(fd, &hello.err);
	return r != 0;
}

static int add_member(struct pool *pool, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket");
	owned_fd int ours = ends[0], theirs = ends[1];
	pid_t pid = child_fork();
	if (pid < 0)
		return err_errno(err, "start a worker");
	if (pid == 0)
		_exit(be_worker(pool, theirs));
	pool->members[pool->n++] = (struct member){ .pid = pid, .control = take_fd(&ours) };
	return 0;
}

static size_t waiting(const struct pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->n; i++)
		n += pool->members[i].control >= 0;
	return n;
}

static int fill(struct pool *pool, struct err *err)
{
	int r = 0;

	while (r >= 0 && waiting(pool) < pool->size)
		r = add_member(pool, err);
	return r;
}

/* Read the message of a worker.  Fails if the worker cannot become ready or has ended. */
static int hear(struct member *member, struct err *err)
{
	struct hello hello;
	int got = message_receive(member->control, &hello, sizeof(hello), NULL, 0, READY_MS);

	if (got > 0 && !hello.r) {
		member->ready = true;
		return 0;
	}
	if (got > 0) {
		*err = hello.err;
		return hello.r;
	}
	return err_set(err, ERR_BUSY, "a worker ended before it was ready");
}

static int hear_all(struct pool *pool, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < pool->n; i++)
		if (pool->members[i].control >= 0 && !pool->members[i].ready)
			r = hear(&pool->members[i], err);
	return r;
}

static struct member *choose(struct pool *pool)
{
	struct member *found = NULL;

	for (size_t i = 0; i < pool->n; i++) {
		struct member *member = &pool->members[i];

		if (member->control >= 0 && (!found || (member->ready && !found->ready)))
			found = member;
	}
	return found;
}

static int hand_over(struct pool *pool, struct err *err)
{
	owned_fd int fd = workerrun_accept(pool->listener, err);
	struct member *member;

	if (fd < 0)
		return fd;
	while ((member = choose(pool))) {
		int r = message_send(member->control, "c", 1, &fd, 1);

		close_fd(&member->control);
		if (r == 0)
			break;
	}
	return 0;
}

/* Remove from the list all workers that have ended. */
static void reap(struct pool *pool)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < pool->n; i++)
			if (pool->members[i].pid == pid) {
				close_fd(&pool->members[i].control);
				pool->members[i] = pool->members[--pool->n];
				break;
			}
}

/* Handle signals.  Returns POOL_ENDS if a signal asks the pool to end. */
static int act_on_signal(struct pool *pool)
{
	struct signalfd_siginfo info;

	if (read(pool->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo != SIGCHLD)
		return POOL_ENDS;
	reap(pool);
	return 0;
}

/* The descriptors that the pool waits for: signals, connections, and workers that become ready. */
struct waits {
	struct pollfd fds[2 + POOL_MAX + POOL_BUSY_MAX];
	size_t member[POOL_MAX + POOL_BUSY_MAX];
	size_t n;
};

static void list_waits(const struct pool *pool, struct waits *waits)
{
	bool room = pool->n < POOL_BUSY_MAX && waiting(pool);

	waits->fds[0] = (struct pollfd){ .fd = pool->signals, .events = POLLIN };
	waits->fds[1] = (struct pollfd){ .fd = room ? pool->listener : -1, .events = POLLIN };
	waits->n = 0;
	for (size_t i = 0; i < pool->n; i++) {
		const struct member *member = &pool->members[i];

		if (member->control < 0 || member->ready)
			continue;
		waits->fds[2 + waits->n] =
			(struct pollfd){ .fd = member->control, .events = POLLIN };
		waits->member[waits->n++] = i;
	}
}

/* Wait for events once and handle them.  Returns POOL_ENDS if a signal asks the pool to end. */
static int serve_once(struct pool *pool, struct err *err)
{
	struct waits waits;
	bool full = waiting(pool) >= pool->size || pool->n >= POOL_BUSY_MAX;
	int r = 0;

	list_waits(pool, &waits);
	int n = poll(waits.fds, 2 + waits.n, full ? -1 : START_AFTER_MS);
	if (n < 0)
		return errno == EINTR ? 0 : err_errno(err, "wait for connections");
	if (n == 0)
		return fill(pool, err);
	for (size_t i = 0; r == 0 && i < waits.n; i++)
		if (waits.fds[2 + i].revents)
			r = hear(&pool->members[waits.member[i]], err);
	if (r == 0 && waits.fds[1].revents)
		r = hand_over(pool, err);
	if (r == 0 && waits.fds[0].revents)
		r = act_on_signal(pool);
	return r;
}

int pool_run(const struct workerrun *worker, const char *socket, unsigned size, struct err *err)
{
	owned(release_pool) struct pool pool = {
		.worker = worker, .size = size, .signals = -1, .listener = -1
	};
	sigset_t set;

	child_end_signals(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, &pool.before);
	pool.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (pool.signals < 0)
		return err_errno(err, "wait for signals");
	/*
	 * Start workers before any peer can connect.  So the pool fails at once if workers cannot
	 * be put under the policy.
	 */
	int r = fill(&pool, err);
	if (r == 0)
		r = hear_all(&pool, err);
	if (r)
		return r;
	pool.listener = workerrun_listen(socket, err);
	if (pool.listener < 0)
		return pool.listener;
	worker->face->ready(worker->face->arg);
	do
		r = serve_once(&pool, err);
	while (r == 0);
	(void)unlink(socket); /* by-name: the socket that was made for --socket */
	return r == POOL_ENDS ? 0 : r;
}
