/*
 * vforker FILE - wait in vfork for a child that runs for ever and writes numbers to FILE.
 *
 * The waiting parent cannot be stopped by a signal.  Both processes stay in the background.  FILE
 * exists when this program ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct timespec pause_of = { .tv_nsec = 1000000 };

static void write_numbers(const char *path)
{
	for (unsigned i = 0;; i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		dprintf(fd, "%u\n", i);
		(void)close(fd);
		(void)nanosleep(&pause_of, NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (fork() == 0) {
		for (int fd = 0; fd < 3; fd++)
			(void)close(fd);
		if (vfork() == 0)
			write_numbers(argv[1]);
		_exit(0);
	}
	while (access(argv[1], F_OK) < 0)
		(void)nanosleep(&pause_of, NULL);
	return 7;
}
