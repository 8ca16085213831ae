/*
 * lookup - measure the first lookup of the names of one directory.
 *
 *	lookup make DIR COUNT     make DIR with COUNT small files
 *	lookup found DIR COUNT    stat, open and close each of them
 *	lookup absent DIR COUNT   stat as many names that do not exist
 *
 * The last two forms print two wall times in nanoseconds: that of the first lookups, and that of a
 * repetition, when the kernel knows each name and its layer.  In an overlay that was just mounted,
 * each name is looked up in every layer that has the directory, down to the layer that has the
 * name.  This program is linked statically, since it runs in a root file system other than this
 * machine's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "lookup: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void make(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, name, strlen(name)) < 0 || close(fd) < 0)
		fail(name);
}

static void found(int dir, const char *name)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		fail(name);
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || close(fd) < 0)
		fail(name);
}

static void absent(int dir, const char *name)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		fail(name);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4 || atol(argv[3]) < 1) {
		fprintf(stderr, "usage: lookup make|found|absent DIR COUNT\n");
		return 2;
	}
	long count = atol(argv[3]);
	void (*act)(int, const char *) = !strcmp(argv[1], "make")    ? make
					 : !strcmp(argv[1], "found") ? found
								     : absent;
	if (act == make && mkdir(argv[2], 0755) < 0)
		fail(argv[2]);
	int dir = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		fail(argv[2]);
	for (int pass = 0; pass < (act == make ? 1 : 2); pass++) {
		long long start = now_ns();
		for (long i = 0; i < count; i++) {
			char name[32];
			snprintf(name, sizeof(name), act == absent ? "none%ld" : "name%ld", i);
			act(dir, name);
		}
		if (act != make)
			printf("%lld%c", now_ns() - start, pass ? '\n' : ' ');
	}
	return 0;
}
