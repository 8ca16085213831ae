#include "confine/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "sandbox/message.h"
#include "sandbox/process.h"

/* The number of the keeper's end of its socket, in the keeper process. */
#define KEPT PROCESS_FIRST_KEPT

struct request {
	char name[HOSTNAME_MAX + 1];
};

struct keeper {
	lookup_fn *find;
	void *arg;
	int deadline_ms;
};

size_t lookup_system(void *arg, const char *name, union netspace_address *out, size_t max)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct addrinfo *list = NULL;
	size_t n = 0;

	if (getaddrinfo(name, NULL, &hints, &list) != 0)
		return 0;
	for (const struct addrinfo *info = list; info && n < max; info = info->ai_next) {
		if (info->ai_addrlen > sizeof(*out) ||
			(info->ai_family != AF_INET && info->ai_family != AF_INET6))
			continue;
		memcpy(&out[n], info->ai_addr, info->ai_addrlen);
		netspace_unmap(&out[n++]);
	}
	freeaddrinfo(list);
	return n;
}

/* --------------------------------------------------- processes of the lookups */

/* Set a timer, whose signal ends this process when the time is over. */
static void set_deadline(int ms)
{
	const struct itimerval deadline = {
		.it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 },
	};

	process_reset_signals();
	(void)setitimer(ITIMER_REAL, &deadline, NULL);
}

static _Noreturn void find_and_exit(
	const struct keeper *keeper, const struct request *request, int answer)
{
	struct lookup_found found = { .n = 0 };
	int socket = KEPT;

	set_deadline(keeper->deadline_ms);
	close_fd(&socket);
	found.n = keeper->find(keeper->arg, request->name, found.list, LOOKUP_ADDRESSES_MAX);
	(void)at_write_all(answer, &found, sizeof(found));
	_exit(0);
}

/*
 * Start a process for each requested name.  SIGCHLD is ignored, so the kernel removes these
 * processes when they end, and no process has to wait for them.
 */
static _Noreturn void keep(const struct keeper *keeper, int socket)
{
	struct request request;
	struct err err = { 0 };
	int answer;

	if (process_keep_only(&socket, 1, &err) < 0)
		_exit(1);
	process_reset_signals();
	(void)signal(SIGCHLD, SIG_IGN);
	while (message_receive(KEPT, &request, sizeof(request), &answer, 1, -1) == 1) {
		request.name[sizeof(request.name) - 1] = '\0';
		if (!*request.name)
			continue; /* a descriptor to hold until this process ends */
		if (child_fork() == 0)
			find_and_exit(keeper, &request, answer);
		close_fd(&answer);
	}
	_exit(0);
}

/* --------------------------------------------- starting and asking the keeper */

int lookup_start(
	struct lookup *lookup, lookup_fn *find, void *arg, int deadline_ms, struct err *err)
{
	const struct keeper keeper = { find, arg, deadline_ms };
	int ends[2];

	*lookup = LOOKUP_INIT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	owned_fd int ours = ends[0], theirs = ends[1];
	lookup->keeper = child_fork();
	if (lookup->keeper == 0)
		keep(&keeper, theirs);
	if (lookup->keeper < 0)
		return err_errno(err, "start the process that looks up names");
	lookup->socket = take_fd(&ours);
	return 0;
}

void lookup_end(struct lookup *lookup)
{
	close_fd(&lookup->socket);
	if (lookup->keeper > 0) {
		(void)kill(lookup->keeper, SIGKILL);
		(void)child_wait(lookup->keeper);
	}
	lookup->keeper = 0;
}

int lookup_ask(const struct lookup *lookup, const char *name)
{
	const size_t len = strlen(name);
	struct request request = { "" };
	int ends[2];

	if (!len || len >= sizeof(request.name) || pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	owned_fd int ours = ends[0], theirs = ends[1];
	memcpy(request.name, name, len);
	if (message_send(lookup->socket, &request, sizeof(request), &theirs, 1) < 0)
		return -1;
	return take_fd(&ours);
}

void lookup_hold(const struct lookup *lookup, int fd)
{
	const struct request request = { "" };

	(void)message_send(lookup->socket, &request, sizeof(request), &fd, 1);
}

int lookup_take(int fd, struct lookup_found *out)
{
	/* A write of so few bytes to a pipe arrives in one piece. */
	ssize_t n = read(fd, out, sizeof(*out));

	if (n < 0)
		return -1;
	if (n == (ssize_t)sizeof(*out) && out->n <= LOOKUP_ADDRESSES_MAX)
		return 0;
	errno = ENODATA;
	return -1;
}
