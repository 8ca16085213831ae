/*
 * callworker - measure the time of calls of a worker.
 *
 *	callworker SAMPLES COUNT spawn REQUEST... -- COMMAND...
 *	callworker SAMPLES COUNT connect PATH REQUEST...
 *
 * The first form starts COMMAND with "--fd N" added, calls it once to warm up, and then COUNT
 * times.  A call consists of all REQUESTs, one after the other, and their replies, none of which
 * may be an error.  For each call, one line is added to the file SAMPLES: the wall time in
 * microseconds, twice, and two zeros.  The second form makes a connection for each call, and its
 * time is included.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX (1 << 20)

static void fail(const char *what)
{
	fprintf(stderr, "callworker: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void read_all(int fd, char *out, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(fd, out + done, len - done);

		if (n <= 0)
			fail("the worker has ended");
		done += (size_t)n;
	}
}

static void call(int fd, const char *request)
{
	static char frame[FRAME_MAX + 1];
	size_t len = strlen(request);
	uint32_t prefix = htonl((uint32_t)len);

	memcpy(frame, &prefix, 4);
	memcpy(frame + 4, request, len);
	if (write(fd, frame, len + 4) != (ssize_t)(len + 4))
		fail("send");
	read_all(fd, (char *)&prefix, 4);
	len = ntohl(prefix);
	if (len > FRAME_MAX)
		fail("too large a reply");
	read_all(fd, frame, len);
	frame[len] = '\0';
	if (!strncmp(frame, "{\"kind\":\"error\"", 15)) {
		fprintf(stderr, "callworker: %s\n", frame);
		exit(1);
	}
}

static int spawn(char **command)
{
	int ends[2];
	char number[16], *args[64] = { 0 };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		fail("socketpair");
	for (size_t i = 0; command[i] && i < 60; i++) {
		args[i] = command[i];
		args[i + 1] = (char *)"--fd";
		args[i + 2] = number;
	}
	snprintf(number, sizeof(number), "%d", ends[1]);
	pid_t pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		close(ends[0]);
		execvp(args[0], args);
		_exit(127);
	}
	close(ends[1]);
	return ends[0];
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail(path);
	return fd;
}

int main(int argc, char **argv)
{
	int first = 4, end = argc, fd = -1;

	if (argc < 6 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: callworker SAMPLES COUNT spawn REQUEST... -- COMMAND...\n"
				"       callworker SAMPLES COUNT connect PATH REQUEST...\n");
		return 2;
	}
	FILE *samples = fopen(argv[1], "a");
	int pooled = !strcmp(argv[3], "connect");
	if (!samples)
		fail(argv[1]);
	if (pooled) {
		first++;
	} else {
		for (end = first; end < argc && strcmp(argv[end], "--") != 0; end++)
			;
		if (end + 1 >= argc)
			fail("no command");
		fd = spawn(argv + end + 1);
		for (int i = first; i < end; i++)
			call(fd, argv[i]);
	}
	for (int n = atoi(argv[2]); n; n--) {
		double start = now_us();

		if (pooled)
			fd = connect_to(argv[4]);
		for (int i = first; i < end; i++)
			call(fd, argv[i]);
		double took = now_us() - start;
		fprintf(samples, "%.2f %.2f 0 0\n", took, took);
		if (pooled) {
			close(fd);
			/*
			 * Pause as between connections of people, so that the pool can prepare the
			 * next worker.
			 */
			usleep(30000);
		}
	}
	return fclose(samples) ? 1 : 0;
}
