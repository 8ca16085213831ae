/* machine_fixture - a network of the test's own, in which every address is local. */
#pragma once
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/child.h"
#include "core/own.h"
#include "sandbox/netspace.h"
#include "sandbox/sandbox_user.h"

static char why_no_machine[sizeof(((struct err *)0)->text)]; /* "": it was entered */

static void skip_without_machine(void)
{
	if (!*why_no_machine)
		return;
	printf("# skip: %s\n", why_no_machine);
	skip();
}

/*
 * Move this process into such a network, as root or in a user namespace, so that no packet of a
 * test can leave.  If that is not possible, tests are skipped.
 */
static void enter_machine(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	char why[SANDBOX_USER_WHY_MAX];
	struct err err = { 0 };

	if (preloaded && strstr(preloaded, "vgpreload")) {
		snprintf(why_no_machine, sizeof(why_no_machine), "valgrind");
		return;
	}
	struct netspace *machine = NULL;
	if (sandbox_user_enter(sandbox_user_choose(why), &err) == 0)
		machine = netspace_new(true, &err);
	if (!machine || setns(netspace_fd(machine), CLONE_NEWNET) < 0) {
		snprintf(why_no_machine, sizeof(why_no_machine), "%s", err.text);
		return;
	}
	netspace_free(machine);
}

static socklen_t make_address(const char *host, uint16_t port, union netspace_address *out)
{
	memset(out, 0, sizeof(*out));
	if (strchr(host, ':')) {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = htons(port);
		assert(inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1);
	} else {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		assert(inet_pton(AF_INET, host, &out->v4.sin_addr) == 1);
	}
	return netspace_size(out);
}

/* A socket that is connected to this address in the present network, or -1 and errno. */
static int connect_to(int type, const char *host, uint16_t port)
{
	const struct timeval patience = { .tv_sec = 20 };
	union netspace_address to;
	socklen_t len = make_address(host, port, &to);
	owned_fd int fd = socket(to.any.sa_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
		connect(fd, &to.any, len) < 0)
		return -1;
	return take_fd(&fd);
}

struct opening_inside {
	int ns, type, fd;
	const char *host;
	uint16_t port;
};

static int open_inside(void *arg)
{
	struct opening_inside *opening = arg;

	if (setns(opening->ns, CLONE_NEWNET) == 0)
		opening->fd = connect_to(opening->type, opening->host, opening->port);
	_exit(errno);
}

/* The same in another network.  errno tells why there is none. */
static int connect_inside(const struct netspace *space, int type, const char *host, uint16_t port)
{
	static _Alignas(16) char stack[65536];
	struct opening_inside opening = {
		.ns = netspace_fd(space), .type = type, .fd = -1, .host = host, .port = port
	};
	pid_t pid = clone(open_inside, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &opening);

	assert(pid > 0);
	int status = child_wait(pid);
	errno = status >> 8 & 0xff;
	return opening.fd;
}

static bool becomes_readable(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, ms) == 1;
}
