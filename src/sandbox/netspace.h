/*
 * netspace - a network namespace whose every address leads to local sockets.
 *
 * The namespace has a loopback device and nothing else.  If the namespace is captured, all
 * addresses of IPv4 and IPv6 are local there: a connection to any address arrives at the socket
 * that listens on its port, and getsockname of the accepted socket tells the address that the
 * program asked for.  Connections to other ports are refused by the kernel at once, and no packet
 * can leave.
 *
 * The namespace belongs to the user namespace of the process that makes it, which needs all
 * capabilities there.  That process stays in its own network: each function that has to work in the
 * namespace starts a short-lived process, which enters it, shares our descriptors and opens the
 * sockets for us.
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
 * Make a namespace.  If captured is set, all addresses are local; else only those of the loopback
 * device.  Returns NULL on error.
 */
struct netspace *netspace_new(bool captured, struct err *err);
/* Close our descriptor.  The namespace stays while there are processes or sockets in it. */
void netspace_free(struct netspace *space);
/* Returns a descriptor to join the namespace with.  It still belongs to space. */
int netspace_fd(const struct netspace *space);

/*
 * Each of the following opens a non-blocking socket in the namespace, and returns its descriptor.
 * ERR_BUSY if a program inside, or another socket of ours, has the port.
 */

/* Accepts the TCP connections to this port of any address. */
int netspace_listen(const struct netspace *space, uint16_t port, struct err *err);
/* Accepts the TCP connections to this port of 127.0.0.1. */
int netspace_listen_loopback(const struct netspace *space, uint16_t port, struct err *err);
/* Receives the UDP packets for this port of any address, by netspace_receive. */
int netspace_datagrams(const struct netspace *space, uint16_t port, struct err *err);
/*
 * Gets copies of packets, to be read by netspace_watched.  They are packets to addresses that are
 * not loopback: the first one of each attempt at a TCP connection, and all of UDP.  Also, for each
 * attempt at a TCP connection to a loopback address that the kernel refuses, since no program
 * accepts it, the packet of the refusal.
 */
int netspace_watch(const struct netspace *space, struct err *err);

/* Bring up the loopback device of our network namespace, and let everyone use low ports there. */
int netspace_loopback_up(struct err *err);

/* Find the address that an accepted connection was made to. */
int netspace_asked(int fd, union netspace_address *out, struct err *err);
/* If address is an IPv4 address in the form of IPv6, change it to one of IPv4. */
void netspace_unmap(union netspace_address *address);
socklen_t netspace_size(const union netspace_address *address);

/* The parties of a UDP packet, as the socket needs them to answer. */
struct netspace_packet {
	struct sockaddr_storage peer;
	socklen_t peer_len;
	struct in6_pktinfo asked; /* address that it was sent to; of sockets of IPv6 */
	struct in_pktinfo asked4;
};

/*
 * Take one packet.  Returns its length, or -1 with errno; EMSGSIZE for a packet larger than
 * size.
 */
ssize_t netspace_receive(int fd, void *bytes, size_t size, struct netspace_packet *packet);
/* Answer a packet, from the address that it was sent to. */
void netspace_answer(int fd, const void *bytes, size_t len, const struct netspace_packet *packet);

struct netspace_attempt {
	bool udp;
	bool refused; /* by the kernel; the address is loopback */
	uint16_t from_port;
	union netspace_address to;
};

/* Take one attempt from the socket of netspace_watch.  Returns false if there is none. */
bool netspace_watched(int fd, struct netspace_attempt *out);
