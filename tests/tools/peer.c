/*
 * peer - one end of a connection, for tests of allowed connections.
 *
 *	peer serve TEXT           answer each connection with TEXT; prints its TCP port first
 *	peer get ADDRESS PORT     print the bytes that the server sends, or the error
 *	peer ask PATH TEXT        send a message to a unix socket, and print the answer or the error
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_SECONDS 10

static int fail(const char *what)
{
	printf("%s: %s\n", what, strerrorname_np(errno));
	return 1;
}

static struct sockaddr_in address_of(const char *text, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	(void)inet_pton(AF_INET, text, &address.sin_addr);
	return address;
}

static int serve(const char *text)
{
	struct sockaddr_in address = address_of("127.0.0.1", 0);
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 16) < 0 ||
		getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return fail("serve");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;) {
		/* cppcheck-suppress nullPointer */
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (peer < 0)
			return fail("accept");
		(void)send(peer, text, strlen(text), MSG_NOSIGNAL);
		(void)close(peer);
	}
}

static int print_answer(int fd)
{
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
	char bytes[4096];
	ssize_t n;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		fwrite(bytes, 1, (size_t)n, stdout);
	putchar('\n');
	return n < 0 ? fail("receive") : 0;
}

static int get(const char *host, int port)
{
	struct sockaddr_in address = address_of(host, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail("connect");
	return print_answer(fd);
}

static int ask(const char *path, const char *text)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail("connect");
	if (*text && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return fail("send");
	if (!*text && shutdown(fd, SHUT_WR) < 0)
		return fail("shutdown");
	return print_answer(fd);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "get"))
		return get(argv[2], atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "ask"))
		return ask(argv[2], argv[3]);
	fputs("usage: peer serve TEXT | get ADDRESS PORT | ask PATH TEXT\n", stderr);
	return 2;
}
