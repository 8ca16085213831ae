/*
 * proxy_fixture - runs a proxy in a process of its own, and programs in its network.
 *
 * The test plays the machine outside: it has servers, and a table of names.  In its own network
 * every address is local, so that servers can have any address.
 */
#pragma once
#include <signal.h>

#include "confine/proxy.h"
#include "core/buf.h"
#include "machine_fixture.h"

#define PATIENCE_MS 20000
#define SERVER_ADDRESS "93.184.216.34"

/* The names that exist on the machine. */
static size_t resolve_for_test(void *arg, const char *name, union netspace_address *out, size_t max)
{
	static const struct {
		const char *name, *addresses[2];
	} names[] = {
		{ "allowed.test", { SERVER_ADDRESS, NULL } },
		{ "other.test", { SERVER_ADDRESS, NULL } },
		{ "a.b.wild.test", { SERVER_ADDRESS, NULL } },
		{ "second.test", { "192.0.2.1", SERVER_ADDRESS } },
		{ "half.test", { "10.0.0.1", SERVER_ADDRESS } },
		{ "private.test", { "10.0.0.1", NULL } },
		{ "loopback.test", { "127.0.0.1", "::1" } },
		{ "six.test", { "2606:2800::1", NULL } },
	};
	size_t n = 0;

	if (!strcmp(name, "slow.test"))
		pause();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t a = 0; a < 2 && !strcmp(names[i].name, name); a++)
			if (names[i].addresses[a])
				make_address(names[i].addresses[a], 0, &out[n++]);
	return n;
}

struct rig {
	struct netspace *space;
	pid_t pid;
	int denials, orders;
	uint16_t http, socks;
};

static uint16_t port_of(const struct proxy *proxy, const char *variable)
{
	for (const char *const *v = proxy_environment(proxy); *v; v++)
		if (!strncmp(*v, variable, strlen(variable)))
			return (uint16_t)atoi(strrchr(*v, ':') + 1);
	return 0;
}

/* Receive an order "+RULE" or "-RULE", and answer with "ok" or the text of an error. */
static bool obey(struct proxy *proxy, int orders)
{
	struct err err = { 0 };
	char order[256];
	ssize_t n = recv(orders, order, sizeof(order) - 1, 0);

	if (n <= 0)
		return false;
	order[n] = '\0';
	int r = order[0] == '+' ? proxy_allow(proxy, order + 1, &err)
				: proxy_revoke(proxy, order + 1, &err);
	(void)!send(orders, r < 0 ? err.text : "ok", r < 0 ? strlen(err.text) : 2, 0);
	return true;
}

static _Noreturn void run_proxy(
	const struct policy *policy, struct netspace *space, int sink, int orders)
{
	const struct proxy_options options = {
		.resolve = resolve_for_test, .resolve_ms = 300, .patience_ms = 1500
	};
	struct err err = { 0 };
	struct denials *denials = denials_new(sink);
	struct proxy *proxy = proxy_new(policy, space, denials, &options, &err);

	if (!proxy) {
		fprintf(stderr, "%s\n", err.text);
		_exit(1);
	}
	struct pollfd fds[] = { { .fd = proxy_fd(proxy), .events = POLLIN },
		{ .fd = orders, .events = POLLIN } };
	uint16_t http = port_of(proxy, "HTTP_PROXY=");
	(void)!send(orders, &http, sizeof(http), 0);
	while (poll(fds, 2, -1) >= 0) {
		if (fds[1].revents && !obey(proxy, orders))
			break;
		if (fds[0].revents)
			proxy_step(proxy);
	}
	proxy_free(proxy);
	denials_free(denials);
	netspace_free(space);
	exit(0);
}

static void rig_start(struct rig *rig, const char **rules, size_t n)
{
	const struct policy policy = { .net = {
					       .mode = POLICY_NET_ALLOWLIST,
					       .allowed = { rules, n },
				       } };
	struct err err = { 0 };
	int denials[2], orders[2];

	*rig = (struct rig){ .space = netspace_new(true, &err), .socks = PROXY_SOCKS_PORT };
	assert(rig->space && pipe2(denials, O_CLOEXEC) == 0);
	assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders) == 0);
	rig->pid = child_fork();
	assert(rig->pid >= 0);
	if (rig->pid == 0) {
		close(orders[0]);
		close(denials[0]);
		run_proxy(&policy, rig->space, denials[1], orders[1]);
	}
	close(orders[1]);
	close(denials[1]);
	rig->denials = denials[0];
	rig->orders = orders[0];
	assert(recv(rig->orders, &rig->http, sizeof(rig->http), 0) == sizeof(rig->http));
}

/* Wait until the proxy ends by itself.  Returns its status. */
static int rig_stop(struct rig *rig)
{
	close(rig->orders);
	close(rig->denials);
	netspace_free(rig->space);
	return child_wait(rig->pid);
}

static int listen_outside(const char *host, uint16_t port)
{
	const int on = 1;
	union netspace_address address;
	socklen_t len = make_address(host, port, &address);
	owned_fd int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/*
	 * Addresses of IPv6 are assigned to no device, so they can only be bound with this option.
	 */
	if (address.any.sa_family == AF_INET6 &&
		setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) < 0)
		return -1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(fd, &address.any, len) < 0 || listen(fd, 256) < 0)
		return -1;
	return take_fd(&fd);
}

/* Returns the next connection of a listening socket, or -1. */
static int accept_outside(int listener)
{
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = becomes_readable(listener, PATIENCE_MS)
			 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC)
			 : -1;

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* Receive until the end of the stream or an error.  errno shows which of them. */
static void receive_all(int fd, struct buf *out)
{
	char part[65536];
	ssize_t n;

	errno = 0;
	while ((n = recv(fd, part, sizeof(part), 0)) > 0)
		buf_add(out, part, (size_t)n);
	buf_addc(out, '\0');
	buf_truncate(out, out->len - 1);
}

/* Receive exactly len bytes.  Returns false if the stream ends before. */
static bool receive(int fd, void *bytes, size_t len)
{
	return recv(fd, bytes, len, MSG_WAITALL) == (ssize_t)len;
}

static bool send_text(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}
