/*
 * meter - run one command and append its cost to a file.
 *
 *	meter SAMPLES DIR COMMAND [ARGUMENT]...
 *
 * One line is added.  It has four numbers: the wall time until the command ended, the wall time
 * until the file system of DIR was synced after that, the CPU time of the command and its children
 * (user and system), all in microseconds, and the peak resident size of the largest of these
 * processes in KiB.  meter ends with the command's status.  If this is not 0, no line is added.
 *
 * This is a small program of its own for two reasons.  A child starts with the peak of the process
 * that forked it, and a shell adds a millisecond.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static long long tv_us(struct timeval t)
{
	return t.tv_sec * 1000000LL + t.tv_usec;
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "meter: %s: %s\n", what, strerror(error));
	exit(125);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: meter SAMPLES DIR COMMAND [ARGUMENT]...\n");
		return 125;
	}
	int dir = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		fail(argv[2], errno);
	FILE *samples = fopen(argv[1], "ae");
	if (!samples)
		fail(argv[1], errno);

	long long start = now_us();
	pid_t pid;
	int error = posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ);
	if (error)
		fail(argv[3], error);
	int status;
	struct rusage use;
	while (wait4(pid, &status, 0, &use) < 0)
		if (errno != EINTR)
			fail("wait4", errno);
	long long ended = now_us();
	if (syncfs(dir) < 0)
		fail(argv[2], errno);
	long long synced = now_us();

	if (status) {
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		fprintf(stderr, "meter: %s ended with %d\n", argv[3], code);
		return code;
	}
	fprintf(samples, "%lld %lld %lld %ld\n", ended - start, synced - start,
		tv_us(use.ru_utime) + tv_us(use.ru_stime), use.ru_maxrss);
	if (fclose(samples))
		fail(argv[1], errno);
	return 0;
}
