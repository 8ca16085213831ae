/*
 * netprobe - uses the network with raw system calls.  It is a static program that does not use the
 * resolver of the C library.
 *
 *	netprobe resolve SERVER NAME [tcp]   ask a name server; prints the address, or the code
 *	                                     of the answer
 *	netprobe get SERVER NAME PORT PATH   resolve the name, connect, and get a page by HTTP
 *	netprobe connect ADDRESS PORT        make a TCP connection
 *	netprobe hello ADDRESS PORT          make a TCP connection, and read until the server
 *	                                     closes it
 *	netprobe udp ADDRESS PORT            send a packet, and wait for an answer
 *	netprobe odd ADDRESS                 make sockets for ICMP, raw packets and other families
 *	netprobe listen ADDRESS PORT         bind a socket and listen
 *	netprobe unix NAME                   connect to the socket of a file, or to "@NAME"
 *
 * Prints "done", the data that arrived, or the name of the error.  The exit status is 1 for an
 * error, and 3 if nothing arrives.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define SILENCE_MS 300 /* time after which no answer is expected any more */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static _Noreturn void fail(const char *what)
{
	printf("%s: %s\n", what, strerrorname_np(errno));
	exit(1);
}

static socklen_t read_address(const char *text, const char *port, union address *out)
{
	*out = (union address){ .v6 = { .sin6_family = AF_INET6 } };
	out->v6.sin6_port = htons((uint16_t)atoi(port));
	if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1)
		return sizeof(out->v6);
	*out = (union address){ .v4 = { .sin_family = AF_INET } };
	out->v4.sin_port = htons((uint16_t)atoi(port));
	if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1)
		return sizeof(out->v4);
	errno = EINVAL;
	fail(text);
}

static int open_to(const char *text, const char *port, int type)
{
	union address address;
	socklen_t len = read_address(text, port, &address);
	int fd = (int)syscall(SYS_socket, address.any.sa_family, type, 0);

	if (fd < 0)
		fail("socket");
	if (syscall(SYS_connect, fd, &address.any, len) < 0)
		fail("connect");
	return fd;
}

static ssize_t receive(int fd, void *bytes, size_t size, int ms)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	if (poll(&readable, 1, ms) != 1) {
		puts("nothing");
		exit(3);
	}
	return syscall(SYS_recvfrom, fd, bytes, size, 0, NULL, NULL);
}

/* -------------------------------------------------------------------- names */

static size_t write_query(uint8_t *out, const char *name)
{
	static const uint8_t header[12] = { 0x12, 0x34, 1, 0, 0, 1 };
	static const uint8_t question[5] = { 0, 0, 1, 0, 1 }; /* end of the name, A, IN */
	size_t len = sizeof(header);

	memcpy(out, header, sizeof(header));
	while (*name) {
		size_t label = strcspn(name, ".");

		out[len++] = (uint8_t)label;
		memcpy(out + len, name, label);
		len += label;
		name += label + (name[label] == '.');
	}
	memcpy(out + len, question, sizeof(question));
	return len + sizeof(question);
}

/* The address is at the end of an answer with one record. */
static void resolve(const char *server, const char *name, bool tcp, char out[INET_ADDRSTRLEN])
{
	uint8_t packet[512 + 2];
	size_t len = write_query(packet + 2, name);
	int fd = open_to(server, "53", tcp ? SOCK_STREAM : SOCK_DGRAM);

	packet[0] = (uint8_t)(len >> 8);
	packet[1] = (uint8_t)len;
	if (syscall(SYS_sendto, fd, tcp ? packet : packet + 2, tcp ? len + 2 : len, 0, NULL, 0) < 0)
		fail("send");
	ssize_t n = receive(fd, packet, sizeof(packet), PATIENCE_MS);
	const uint8_t *answer = packet + (tcp ? 2 : 0);
	n -= tcp ? 2 : 0;
	close(fd);
	if (n < 12)
		fail("receive");
	if (!answer[7]) {
		printf("code %d\n", answer[3] & 15);
		exit(3);
	}
	(void)inet_ntop(AF_INET, answer + n - 4, out, INET_ADDRSTRLEN);
}

static int get(char **args)
{
	char address[INET_ADDRSTRLEN], request[512], part[65536];
	ssize_t n;

	resolve(args[0], args[1], false, address);
	int fd = open_to(address, args[2], SOCK_STREAM);
	int len = snprintf(request, sizeof(request),
		"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", args[3], args[1]);
	if (syscall(SYS_sendto, fd, request, (size_t)len, 0, NULL, 0) < 0)
		fail("send");
	while ((n = receive(fd, part, sizeof(part), PATIENCE_MS)) > 0)
		fwrite(part, 1, (size_t)n, stdout);
	if (n < 0)
		fail("receive");
	return 0;
}

/* ------------------------------------------------------------------ attempts */

static int hello(const char *address, const char *port)
{
	int fd = open_to(address, port, SOCK_STREAM);
	char part[4096];
	ssize_t n;

	while ((n = receive(fd, part, sizeof(part), PATIENCE_MS)) > 0)
		fwrite(part, 1, (size_t)n, stdout);
	if (n < 0)
		fail("receive");
	return 0;
}

static int udp(const char *address, const char *port)
{
	int fd = open_to(address, port, SOCK_DGRAM);
	char part[512];

	if (syscall(SYS_sendto, fd, "hello", 5, 0, NULL, 0) < 0)
		fail("send");
	if (receive(fd, part, sizeof(part), SILENCE_MS) < 0)
		fail("receive");
	puts("answered");
	return 0;
}

static int odd(const char *text)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} kinds[] = {
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "ping6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 },
		{ "raw icmp", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_RAW },
		{ "packet", AF_PACKET, SOCK_RAW, 0x0300 /* all, in network byte order */ },
		{ "sctp", AF_INET, SOCK_SEQPACKET, 132 },
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
	};
	union address address;
	const uint8_t echo[16] = { 8 };
	bool any = false;

	(void)read_address(text, "0", &address);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int fd =
			(int)syscall(SYS_socket, kinds[i].family, kinds[i].type, kinds[i].protocol);
		bool made = fd >= 0;

		if (made && kinds[i].family == AF_INET)
			(void)syscall(SYS_sendto, fd, echo, sizeof(echo), 0, &address.any,
				sizeof(address.v4));
		any |= made;
		printf("%s: %s\n", kinds[i].name, made ? "done" : strerrorname_np(errno));
	}
	return any;
}

static int listen_at(const char *text, const char *port)
{
	union address address;
	socklen_t len = read_address(text, port, &address);
	int fd = (int)syscall(SYS_socket, address.any.sa_family, SOCK_STREAM, 0);

	if (fd < 0)
		fail("socket");
	if (syscall(SYS_bind, fd, &address.any, len) < 0)
		fail("bind");
	if (syscall(SYS_listen, fd, 5) < 0)
		fail("listen");
	puts("done");
	return 0;
}

static int connect_unix(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);

	strncpy(address.sun_path, name, sizeof(address.sun_path) - 1);
	if (*name == '@')
		address.sun_path[0] = '\0';
	if (fd < 0)
		fail("socket");
	if (syscall(SYS_connect, fd, &address,
		    offsetof(struct sockaddr_un, sun_path) + strlen(name)) < 0)
		fail("connect");
	puts("done");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	char address[INET_ADDRSTRLEN];

	if (!strcmp(what, "resolve") && argc > 3) {
		resolve(argv[2], argv[3], argc > 4, address);
		puts(address);
		return 0;
	}
	if (!strcmp(what, "get") && argc > 5)
		return get(argv + 2);
	if (!strcmp(what, "odd"))
		return odd(argv[2]);
	if (!strcmp(what, "unix"))
		return connect_unix(argv[2]);
	if (!strcmp(what, "hello") && argc > 3)
		return hello(argv[2], argv[3]);
	if (!strcmp(what, "udp") && argc > 3)
		return udp(argv[2], argv[3]);
	if (!strcmp(what, "listen") && argc > 3)
		return listen_at(argv[2], argv[3]);
	if (!strcmp(what, "connect") && argc > 3) {
		(void)open_to(argv[2], argv[3], SOCK_STREAM);
		puts("done");
		return 0;
	}
	fprintf(stderr, "usage: see the head of netprobe.c\n");
	return 2;
}
