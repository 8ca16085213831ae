#include "sandbox/listeners.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/own.h"

#define ANSWER_BYTES 16384

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 about;
};

/* Ask the kernel for the sockets of a family that listen on a port. */
static bool ask(int fd, int family, in_port_t port)
{
	const struct question question = {
		.header = {
			.nlmsg_len = sizeof(question),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.about = {
			.sdiag_family = (uint8_t)family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = 1 << TCP_LISTEN,
			.id.idiag_sport = port,
		},
	};

	return send(fd, &question, sizeof(question), MSG_NOSIGNAL) == (ssize_t)sizeof(question);
}

static bool has_address(const struct inet_diag_msg *socket, const union netspace_address *address)
{
	static const uint32_t every[4];
	const size_t size =
		socket->idiag_family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	const void *own = address->any.sa_family == AF_INET ? (const void *)&address->v4.sin_addr
							    : (const void *)&address->v6.sin6_addr;

	if (!memcmp(socket->id.idiag_src, every, size))
		return true;
	return socket->idiag_family == address->any.sa_family &&
	       !memcmp(socket->id.idiag_src, own, size);
}

/*
 * Read a part of the answer.  Returns 1 if this part has a socket for the address, 0 if it has
 * none, and -1 at the end of the answer.
 */
static int read_part(int fd, const union netspace_address *address)
{
	_Alignas(struct nlmsghdr) char part[ANSWER_BYTES];
	ssize_t n = recv(fd, part, sizeof(part), MSG_DONTWAIT);
	size_t left = n > 0 ? (size_t)n : 0;

	if (!left)
		return -1;
	for (const struct nlmsghdr *message = (const void *)part; NLMSG_OK(message, left);
		message = NLMSG_NEXT(message, left)) {
		if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
			message->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			return -1;
		if (has_address(NLMSG_DATA(message), address))
			return 1;
	}
	return 0;
}

static bool accepts(const union netspace_address *address, int family)
{
	owned_fd int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int r = fd >= 0 && ask(fd, family, address->v4.sin_port) ? 0 : -1;

	while (!r)
		r = read_part(fd, address);
	return r > 0;
}

/* A socket of IPv6 that listens on all addresses also accepts connections to IPv4 addresses. */
bool listeners_accept(const union netspace_address *address)
{
	return accepts(address, AF_INET6) ||
	       (address->any.sa_family == AF_INET && accepts(address, AF_INET));
}
