#include "sandbox/netspace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/sandbox_user.h"

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

struct netspace {
	int fd;
	bool v6; /* the kernel has IPv6 */
};

/* ------------------------------------------------------------------ visitors */

/* The input of the short-lived process that enters the namespace. */
struct visit {
	int ns; /* -1: make a new namespace */
	int (*work)(void *arg, struct err *err);
	void *arg;
};

static int enter_and_work(void *arg, struct err *err)
{
	const struct visit *visit = arg;

	if (visit->ns < 0 && unshare(CLONE_NEWNET) < 0)
		return sandbox_user_refused(errno, "make a network namespace", err);
	if (visit->ns >= 0 && setns(visit->ns, CLONE_NEWNET) < 0)
		return err_errno(err, "enter the network namespace");
	return visit->work(visit->arg, err);
}

/*
 * Call work(arg) in a process that enters the namespace.  Descriptors that 'work' opens belong to
 * the caller.
 */
static int visit_namespace(
	int ns, int (*work)(void *arg, struct err *err), void *arg, struct err *err)
{
	struct visit visit = { .ns = ns, .work = work, .arg = arg };

	return child_visit(enter_and_work, &visit, err);
}

/* -------------------------------------------------------------------- making */

int netspace_loopback_up(struct err *err)
{
	owned_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return err_errno(err, "bring up the loopback device");
	/*
	 * Let every user use low ports.  Root in the sandbox needs this, since it has no rights
	 * over the network namespace, which belongs to the user namespace above.
	 */
	struct err ignored = { 0 };
	(void)procfile_write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", &ignored);
	return 0;
}

struct route_request {
	struct nlmsghdr header;
	struct rtmsg route;
	struct rtattr attribute;
	uint32_t device;
};

struct route_answer {
	struct nlmsghdr header;
	struct nlmsgerr error;
};

/* Send a request.  Returns the kernel's error number, or 0 if the request has succeeded. */
static int send_route(int netlink, const struct route_request *request)
{
	struct route_answer answer;

	if (send(netlink, request, sizeof(*request), 0) < 0)
		return errno;
	ssize_t n = recv(netlink, &answer, sizeof(answer), 0);
	if (n < 0)
		return errno;
	if (n < (ssize_t)sizeof(answer) || answer.header.nlmsg_type != NLMSG_ERROR)
		return EPROTO;
	return -answer.error.error;
}

/* Make all addresses of a family local.  Returns an error number, or 0. */
static int capture_family(int netlink, int family)
{
	const struct route_request request = {
		.header = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RTM_NEWROUTE,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
		},
		.route = {
			.rtm_family = (unsigned char)family,
			.rtm_table = RT_TABLE_LOCAL,
			.rtm_protocol = RTPROT_BOOT,
			.rtm_scope = RT_SCOPE_HOST,
			.rtm_type = RTN_LOCAL,
		},
		.attribute = {
			.rta_len = RTA_LENGTH(sizeof(request.device)),
			.rta_type = RTA_OIF,
		},
		.device = if_nametoindex("lo"),
	};

	return send_route(netlink, &request);
}

/*
 * Make all addresses of both families local.  If the kernel has no IPv6, or IPv6 is switched off
 * for the device, this is no failure.
 */
static int capture_addresses(struct netspace *space, struct err *err)
{
	owned_fd int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (netlink < 0)
		return err_errno(err, "open a socket for routes");
	errno = capture_family(netlink, AF_INET);
	if (errno)
		return err_errno(err, "make all addresses local");
	space->v6 = capture_family(netlink, AF_INET6) == 0;
	return 0;
}

struct making {
	struct netspace *space;
	bool captured;
};

static int set_up(void *arg, struct err *err)
{
	const struct making *making = arg;

	if (netspace_loopback_up(err) < 0 ||
		(making->captured && capture_addresses(making->space, err) < 0))
		return -(int)err->code;
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC); /* by-name: a magic link */
	making->space->fd = fd;
	return fd < 0 ? err_errno(err, "open the network namespace") : 0;
}

struct netspace *netspace_new(bool captured, struct err *err)
{
	struct netspace *space = mem_alloc(sizeof(*space));
	struct making making = { space, captured };

	*space = (struct netspace){ .fd = -1 };
	if (visit_namespace(-1, set_up, &making, err) == 0)
		return space;
	netspace_free(space);
	return NULL;
}

void netspace_free(struct netspace *space)
{
	if (!space)
		return;
	close_fd(&space->fd);
	free(space);
}

int netspace_fd(const struct netspace *space)
{
	return space->fd;
}

/* ------------------------------------------------------------------- sockets */

enum opening_what { LISTENER, LOOPBACK_LISTENER, DATAGRAMS };

struct opening {
	enum opening_what what;
	bool v6;
	uint16_t port;
	int fd;
};

static int set_option(int fd, int level, int option)
{
	const int on = 1;

	return setsockopt(fd, level, option, &on, sizeof(on));
}

/* Bind a socket to its port.  A socket of IPv6 without IPV6_V6ONLY serves both families. */
static int bind_socket(const struct opening *opening, int fd)
{
	const int off = 0;
	union netspace_address address = { .any = { .sa_family = AF_UNSPEC } };

	if (opening->v6) {
		address.v6 = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = htons(opening->port),
		};
		if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
			return -1;
	} else {
		address.v4 = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(opening->port),
			.sin_addr.s_addr = opening->what == LOOPBACK_LISTENER
						   ? htonl(INADDR_LOOPBACK)
						   : htonl(INADDR_ANY),
		};
	}
	return bind(fd, &address.any, netspace_size(&address));
}

/*
 * Make the kernel report the address that each packet was sent to.  Answers can then be sent from
 * that address.
 */
static int prepare_datagrams(const struct opening *opening, int fd)
{
	if (!opening->v6)
		return set_option(fd, IPPROTO_IP, IP_PKTINFO);
	return set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO) < 0 ||
			       set_option(fd, IPPROTO_IPV6, IPV6_FREEBIND) < 0
		       ? -1
		       : 0;
}

static int open_socket(void *arg, struct err *err)
{
	struct opening *opening = arg;
	const int type = opening->what == DATAGRAMS ? SOCK_DGRAM : SOCK_STREAM;
	owned_fd int fd =
		socket(opening->v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_errno(err, "open a socket in the network namespace");
	if (type == SOCK_STREAM && set_option(fd, SOL_SOCKET, SO_REUSEADDR) < 0)
		return err_errno(err, "set up a listening socket");
	if (bind_socket(opening, fd) < 0 ||
		(type == SOCK_STREAM && listen(fd, NETSPACE_BACKLOG) < 0)) {
		if (errno == EADDRINUSE)
			return err_set(err, ERR_BUSY, "port %u is in use in the sandbox",
				(unsigned)opening->port);
		return err_errno(err, "take port %u in the sandbox", (unsigned)opening->port);
	}
	if (type == SOCK_DGRAM && prepare_datagrams(opening, fd) < 0)
		return err_errno(err, "set up a socket for packets");
	opening->fd = take_fd(&fd);
	return 0;
}

static int open_in(
	const struct netspace *space, enum opening_what what, uint16_t port, struct err *err)
{
	struct opening opening = {
		.what = what,
		.v6 = space->v6 && what != LOOPBACK_LISTENER,
		.port = port,
		.fd = -1,
	};

	return visit_namespace(space->fd, open_socket, &opening, err) < 0 ? -(int)err->code
									  : opening.fd;
}

int netspace_listen(const struct netspace *space, uint16_t port, struct err *err)
{
	return open_in(space, LISTENER, port, err);
}

int netspace_listen_loopback(const struct netspace *space, uint16_t port, struct err *err)
{
	return open_in(space, LOOPBACK_LISTENER, port, err);
}

int netspace_datagrams(const struct netspace *space, uint16_t port, struct err *err)
{
	return open_in(space, DATAGRAMS, port, err);
}

/* ----------------------------------------------------------------- addresses */

socklen_t netspace_size(const union netspace_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
}

void netspace_unmap(union netspace_address *address)
{
	if (address->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr))
		return;
	struct sockaddr_in plain = { .sin_family = AF_INET, .sin_port = address->v6.sin6_port };

	memcpy(&plain.sin_addr, &address->v6.sin6_addr.s6_addr[12], sizeof(plain.sin_addr));
	address->v4 = plain;
}

int netspace_asked(int fd, union netspace_address *out, struct err *err)
{
	union netspace_address address = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len) < 0)
		return err_errno(err, "find the address of a connection");
	netspace_unmap(&address);
	*out = address;
	return 0;
}

ssize_t netspace_receive(int fd, void *bytes, size_t size, struct netspace_packet *packet)
{
	_Alignas(struct cmsghdr) char control[128];
	struct iovec part = { bytes, size };
	struct msghdr message = {
		.msg_name = &packet->peer,
		.msg_namelen = sizeof(packet->peer),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);

	if (n < 0)
		return -1;
	packet->peer_len = message.msg_namelen;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
			memcpy(&packet->asked, CMSG_DATA(c), sizeof(packet->asked));
		else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
			memcpy(&packet->asked4, CMSG_DATA(c), sizeof(packet->asked4));
	}
	if (message.msg_flags & MSG_TRUNC) {
		errno = EMSGSIZE;
		return -1;
	}
	return n;
}

void netspace_answer(int fd, const void *bytes, size_t len, const struct netspace_packet *packet)
{
	const bool v6 = packet->peer.ss_family == AF_INET6;
	/*
	 * ipi_addr is the address that the packet was sent to.  For an answer, the kernel takes the
	 * sender's address from ipi_spec_dst.
	 */
	const struct in_pktinfo from = { .ipi_spec_dst = packet->asked4.ipi_addr };
	const size_t from_size = v6 ? sizeof(packet->asked) : sizeof(from);
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(packet->asked))] = { 0 };
	struct iovec part = { (void *)bytes, len };
	struct msghdr message = {
		.msg_name = (void *)&packet->peer,
		.msg_namelen = packet->peer_len,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(from_size),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
	c->cmsg_type = v6 ? IPV6_PKTINFO : IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(from_size);
	memcpy(CMSG_DATA(c), v6 ? (const void *)&packet->asked : (const void *)&from, from_size);
	(void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ------------------------------------------------------------------ attempts */

#define IP4_FRAGMENT 6
#define IP4_PROTOCOL 9
#define IP4_FROM 12
#define IP4_TO 16
#define IP6_PROTOCOL 6
#define IP6_FROM 8
#define IP6_TO 24
#define IP6_HEADER 40
#define TCP_SEQUENCE 4
#define TCP_FLAGS 13
#define PORTS 4         /* bytes of the two port numbers at the start of a TCP or UDP header */
#define WATCHED_MAX 128 /* number of bytes of a packet that are sure to include all headers */
#define WATCH_MEMORY 65536

#define LOAD(size, at) BPF_STMT(BPF_LD | (size) | BPF_ABS, (uint32_t)(at))
/*
 * In these macros, the parameters 'here', 'yes' and 'no' are positions in the filter.  'here' is
 * the position of the jump, and the other two are those of its targets.
 */
#define JUMP(how, here, value, yes, no)                                                            \
	BPF_JUMP(BPF_JMP | (how) | BPF_K, (value), (yes) - (here)-1, (no) - (here)-1)
#define IF_EQUAL(here, value, yes, no) JUMP(BPF_JEQ, here, value, yes, no)
#define IF_LEAST(here, value, yes, no) JUMP(BPF_JGE, here, value, yes, no)
#define IF_ANY(here, bits, yes, no) JUMP(BPF_JSET, here, bits, yes, no)
#define RETURN(bytes) BPF_STMT(BPF_RET | BPF_K, (bytes))

enum filter_place {
	V4 = 4,
	V6 = 15,
	FLAGS = 25,
	NEAR4 = 27,
	NEAR6 = 38,
	REFUSAL = 47,
	DROP = 49,
	TAKE = 50,
};

/*
 * The device shows each packet twice, once as sent and once as received.  The filter takes only the
 * received one.  Of packets between loopback addresses, the filter takes only resets without a
 * sequence number, by which the kernel refuses attempts.  Packets to multicast addresses are left
 * out, since programs that look for printers send them.
 */
static struct sock_filter watch_filter[] = {
	[0] = LOAD(BPF_B, SKF_AD_OFF + SKF_AD_PKTTYPE),
	[1] = IF_EQUAL(1, PACKET_HOST, 2, DROP),
	[2] = LOAD(BPF_H, SKF_AD_OFF + SKF_AD_PROTOCOL),
	[3] = IF_EQUAL(3, ETH_P_IP, V4, V6),

	[V4] = LOAD(BPF_B, IP4_TO),
	[5] = IF_EQUAL(5, 127, NEAR4, 6),
	[6] = IF_LEAST(6, 224, DROP, 7),
	[7] = LOAD(BPF_H, IP4_FRAGMENT),
	[8] = IF_ANY(8, IP_OFFMASK, DROP, 9),
	[9] = LOAD(BPF_B, IP4_PROTOCOL),
	[10] = IF_EQUAL(10, IPPROTO_UDP, TAKE, 11),
	[11] = IF_EQUAL(11, IPPROTO_TCP, 12, DROP),
	[12] = BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), /* the length of the header */
	[13] = BPF_STMT(BPF_LD | BPF_B | BPF_IND, TCP_FLAGS),
	[14] = BPF_STMT(BPF_JMP | BPF_JA, FLAGS - 14 - 1),

	/* The device carries only IPv4 and IPv6. */
	[V6] = LOAD(BPF_B, IP6_TO),
	[16] = IF_EQUAL(16, 0xff, DROP, 17),
	[17] = LOAD(BPF_W, IP6_TO),
	[18] = IF_EQUAL(18, 0, 19, 21),
	[19] = LOAD(BPF_W, IP6_TO + 12),
	[20] = IF_EQUAL(20, 1, NEAR6, 21),
	[21] = LOAD(BPF_B, IP6_PROTOCOL),
	[22] = IF_EQUAL(22, IPPROTO_UDP, TAKE, 23),
	[23] = IF_EQUAL(23, IPPROTO_TCP, 24, DROP),
	[24] = LOAD(BPF_B, IP6_HEADER + TCP_FLAGS),

	[FLAGS] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_SYN | TH_ACK),
	[26] = IF_EQUAL(26, TH_SYN, TAKE, DROP),

	[NEAR4] = LOAD(BPF_B, IP4_FROM),
	[28] = IF_EQUAL(28, 127, 29, DROP),
	[29] = LOAD(BPF_H, IP4_FRAGMENT),
	[30] = IF_ANY(30, IP_OFFMASK, DROP, 31),
	[31] = LOAD(BPF_B, IP4_PROTOCOL),
	[32] = IF_EQUAL(32, IPPROTO_TCP, 33, DROP),
	[33] = BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
	[34] = BPF_STMT(BPF_LD | BPF_W | BPF_IND, TCP_SEQUENCE),
	[35] = IF_EQUAL(35, 0, 36, DROP),
	[36] = BPF_STMT(BPF_LD | BPF_B | BPF_IND, TCP_FLAGS),
	[37] = BPF_STMT(BPF_JMP | BPF_JA, REFUSAL - 37 - 1),

	[NEAR6] = LOAD(BPF_W, IP6_FROM),
	[39] = IF_EQUAL(39, 0, 40, DROP),
	[40] = LOAD(BPF_W, IP6_FROM + 12),
	[41] = IF_EQUAL(41, 1, 42, DROP),
	[42] = LOAD(BPF_B, IP6_PROTOCOL),
	[43] = IF_EQUAL(43, IPPROTO_TCP, 44, DROP),
	[44] = LOAD(BPF_W, IP6_HEADER + TCP_SEQUENCE),
	[45] = IF_EQUAL(45, 0, 46, DROP),
	[46] = LOAD(BPF_B, IP6_HEADER + TCP_FLAGS),

	[REFUSAL] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_RST | TH_ACK),
	[48] = IF_EQUAL(48, TH_RST | TH_ACK, TAKE, DROP),
	[DROP] = RETURN(0),
	[TAKE] = RETURN(WATCHED_MAX),
};

static int open_watch(void *arg, struct err *err)
{
	const struct sock_fprog program = {
		.len = sizeof(watch_filter) / sizeof(watch_filter[0]),
		.filter = watch_filter,
	};
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex("lo"),
	};
	const int memory = WATCH_MEMORY;
	/* With protocol 0, the socket receives nothing until the filter is in place. */
	owned_fd int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &memory, sizeof(memory)) < 0 ||
		bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, "watch attempts at connections");
	*(int *)arg = take_fd(&fd);
	return 0;
}

int netspace_watch(const struct netspace *space, struct err *err)
{
	int fd = -1;

	return visit_namespace(space->fd, open_watch, &fd, err) < 0 ? -(int)err->code : fd;
}

/*
 * Read the ports at the start of a TCP or UDP header.  In a refusal the two ports are exchanged.
 * Returns the port that the attempt was made to.
 */
static in_port_t read_ports(const uint8_t *header, struct netspace_attempt *out)
{
	in_port_t ports[2];

	memcpy(ports, header, sizeof(ports));
	out->from_port = ntohs(ports[out->refused ? 1 : 0]);
	return ports[out->refused ? 0 : 1];
}

static bool read_packet4(const uint8_t *packet, size_t len, struct netspace_attempt *out)
{
	const size_t header = len ? (size_t)(packet[0] & 0x0f) * 4 : 0;

	if (len < header + PORTS || header < IP4_TO + 4)
		return false;
	out->udp = packet[IP4_PROTOCOL] == IPPROTO_UDP;
	out->to.v4 = (struct sockaddr_in){ .sin_family = AF_INET };
	out->refused = packet[IP4_TO] == IN_LOOPBACKNET;
	memcpy(&out->to.v4.sin_addr, packet + (out->refused ? IP4_FROM : IP4_TO), 4);
	out->to.v4.sin_port = read_ports(packet + header, out);
	return true;
}

static bool read_packet6(const uint8_t *packet, size_t len, struct netspace_attempt *out)
{
	if (len < IP6_HEADER + PORTS)
		return false;
	out->udp = packet[IP6_PROTOCOL] == IPPROTO_UDP;
	out->to.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	out->refused = !memcmp(packet + IP6_TO, &in6addr_loopback, 16);
	memcpy(&out->to.v6.sin6_addr, packet + (out->refused ? IP6_FROM : IP6_TO), 16);
	out->to.v6.sin6_port = read_ports(packet + IP6_HEADER, out);
	netspace_unmap(&out->to);
	return true;
}

bool netspace_watched(int fd, struct netspace_attempt *out)
{
	uint8_t packet[WATCHED_MAX];

	for (;;) {
		ssize_t n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT);

		if (n < 0)
			return false;
		if (n && (packet[0] >> 4 == 4 ? read_packet4(packet, (size_t)n, out)
					      : read_packet6(packet, (size_t)n, out)))
			return true;
	}
}
