/*
 * rpc SOCKET [-n LINES] [-u TEXT] [-t MS] [-s] [-z] - send standard input to a unix socket, and
 * print the answer.
 *
 * Ends after LINES lines, after a line that contains TEXT, when the other side closes, or after MS
 * milliseconds (5000).  -s: when everything is sent, shut the sending side down.  -z: connect,
 * send, and never read.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void flood(int fd)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(0, bytes, sizeof(bytes))) > 0)
		if (send(fd, bytes, (size_t)n, MSG_NOSIGNAL) < 0)
			return;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	long lines = -1, limit = 5000;
	const char *text = NULL;
	int opt, never = 0, half = 0;

	while ((opt = getopt(argc, argv, "n:t:u:sz")) != -1) {
		if (opt == 'n')
			lines = atol(optarg);
		else if (opt == 't')
			limit = atol(optarg);
		else if (opt == 'u')
			text = optarg;
		else if (opt == 's')
			half = 1;
		else if (opt == 'z')
			never = 1;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[optind]);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		perror("connect");
		return 1;
	}
	if (never) {
		flood(fd);
		(void)usleep((useconds_t)limit * 1000);
		return 0;
	}
	long until = now_ms() + limit;
	struct pollfd ready[2] = { { .fd = fd, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
	while (lines != 0 && now_ms() < until) {
		char bytes[65536];

		if (poll(ready, 2, (int)(until - now_ms())) <= 0)
			continue;
		if (ready[1].fd >= 0 && ready[1].revents) {
			ssize_t n = read(0, bytes, sizeof(bytes));

			if (n <= 0) {
				ready[1].fd = -1;
				if (half)
					(void)shutdown(fd, SHUT_WR);
			} else if (send(fd, bytes, (size_t)n, MSG_NOSIGNAL) < 0) {
				ready[1].fd = -1;
			}
		}
		if (!ready[0].revents)
			continue;
		ssize_t n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			return 0;
		(void)!write(1, bytes, (size_t)n);
		if (text && memmem(bytes, (size_t)n, text, strlen(text)))
			return 0;
		for (ssize_t i = 0; i < n && lines > 0; i++)
			lines -= bytes[i] == '\n';
	}
	return lines > 0;
}
