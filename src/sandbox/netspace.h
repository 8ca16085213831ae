/*
 * netspace - a network namespace in which all addresses can lead to local sockets.
 *
 * The namespace has a loopback device and nothing else.  If the namespace is captured, all
 * addresses of IPv4 and IPv6 are local in it.  A connection to any address then arrives at the
 * local socket that listens on the requested port.  getsockname of the accepted socket returns the
 * address that the program asked for.  The kernel at once refuses connections to ports on which no
 * socket listens.  No packet can leave the namespace.
 *
 * The namespace belongs to the user namespace of the process that makes it.  That process needs all
 * capabilities there, and stays in its own network.  Each function that has to work in the
 * namespace starts a short-lived process.  That process enters the namespace, shares the caller's
 * descriptors and opens the sockets for the caller.
 */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/err.h"

#define NETSPACE_BACKLOG 1024

/*
 * An address of IPv4 or IPv6 with its port.  The functions below never return an IPv4 address in
 * the form of IPv6.
 */
union netspace_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct netspace;

/*
 * Make a namespace.  If 'captured' is set, all addresses are local; else only those of the loopback
 * device are.  Returns NULL on error.
 */
struct netspace *netspace_new(bool captured, struct err *err);
/*
 * Close the descriptor of the namespace.  The namespace stays while there are processes or sockets
 * in it.
 */
void netspace_free(struct netspace *space);
/* Returns a descriptor for joining the namespace.  The descriptor still belongs to 'space'. */
int netspace_fd(const struct netspace *space);

/*
 * Each of the following functions opens a non-blocking socket in the namespace, and returns its
 * descriptor.  ERR_BUSY: a program in the sandbox, or another socket of this process, has the port.
 */

/* The socket accepts TCP connections to this port of any address. */
int netspace_listen(const struct netspace *space, uint16_t port, struct err *err);
/* The socket accepts TCP connections to this port of 127.0.0.1. */
int netspace_listen_loopback(const struct netspace *space, uint16_t port, struct err *err);
/* The socket receives UDP packets for this port of any address, by netspace_receive. */
int netspace_datagrams(const struct netspace *space, uint16_t port, struct err *err);
/*
 * The socket gets copies of these packets, which netspace_watched reads: the first packet of each
 * TCP connection to an address that is not loopback; all UDP packets to such addresses; and the
 * kernel's refusals of TCP connections to loopback ports on which no program listens.
 */
int netspace_watch(const struct netspace *space, struct err *err);

/*
 * Bring up the loopback device in the network namespace of this process.  Also let every user use
 * low ports there.
 */
int netspace_loopback_up(struct err *err);

/* Find the address that an accepted connection was made to. */
int netspace_asked(int fd, union netspace_address *out, struct err *err);
/* If *address is an IPv4 address in the form of IPv6, give it the form of IPv4. */
void netspace_unmap(union netspace_address *address);
socklen_t netspace_size(const union netspace_address *address);

/* The parties of a UDP packet, in the form that the socket needs for an answer. */
struct netspace_packet {
	struct sockaddr_storage peer;
	socklen_t peer_len;
	/* the address that the packet was sent to; used by sockets of IPv6 */
	struct in6_pktinfo asked;
	struct in_pktinfo asked4;
};

/*
 * Receive one packet.  Returns its length, or -1 with errno; EMSGSIZE for a packet larger than
 * size.
 */
ssize_t netspace_receive(int fd, void *bytes, size_t size, struct netspace_packet *packet);
/* Answer a packet, from the address that it was sent to. */
void netspace_answer(int fd, const void *bytes, size_t len, const struct netspace_packet *packet);

struct netspace_attempt {
	bool udp;
	/* the kernel has refused the attempt; the address is then a loopback address */
	bool refused;
	uint16_t from_port;
	union netspace_address to;
};

/* Read one attempt from the socket of netspace_watch.  Returns false if there is none. */
bool netspace_watched(int fd, struct netspace_attempt *out);
