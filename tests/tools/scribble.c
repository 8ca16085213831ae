/*
 * scribble DIR SEED OPERATIONS [PAUSE_US] - change a tree in every way that a program can.
 *
 * The operations are: create, write, append, truncate, rename, chmod, link, delete, make deep
 * directories, rename directories.  Only files below DIR are changed.  DIR is made.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES 24
#define DEPTH 4

static unsigned long long state;

static unsigned pick(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}

/* Make a path of one to DEPTH names.  There are only a few names, so that paths often meet. */
static void some_path(char out[256])
{
	unsigned depth = 1 + pick(DEPTH);
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < depth; i++)
		len += (size_t)snprintf(out + len, 256 - len, "%s%c%u", i ? "/" : "",
			i + 1 < depth ? 'd' : 'f', pick(NAMES));
}

static void some_dir(char out[256])
{
	some_path(out);
	char *slash = strrchr(out, '/');

	if (slash)
		*slash = '\0';
	else
		snprintf(out, 256, "d%u", pick(NAMES));
}

static void make_parents(char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
}

static void scribble_on(const char *path, int flags)
{
	char text[512];
	int fd = open(path, O_WRONLY | flags | O_CLOEXEC, 0644);
	int n = snprintf(text, sizeof(text), "%s %u %d\n", path, pick(1000000), flags);

	if (fd < 0)
		return;
	for (unsigned i = pick(8); i; i--)
		if (write(fd, text, (size_t)n) < 0)
			break;
	(void)close(fd);
}

/* Write through a mapping.  The file is still open when it is written. */
static void write_mapped(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		char *map =
			mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (map != MAP_FAILED) {
			map[pick((unsigned)st.st_size)] ^= 1;
			(void)munmap(map, (size_t)st.st_size);
		}
	}
	(void)close(fd);
}

static void remove_tree(const char *dir)
{
	char path[300];

	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "%s/f%u", dir, i);
		(void)unlink(path);
		snprintf(path, sizeof(path), "%s/d%u", dir, i);
		if (rmdir(path) < 0 && errno == ENOTEMPTY && pick(2))
			remove_tree(path);
	}
	(void)rmdir(dir);
}

static void operate(void)
{
	char a[256], b[256];

	some_path(a);
	some_path(b);
	switch (pick(13)) {
	case 0:
	case 1:
		make_parents(a);
		scribble_on(a, O_CREAT | O_EXCL);
		break;
	case 2:
		make_parents(a);
		scribble_on(a, O_CREAT | O_TRUNC);
		break;
	case 3:
		scribble_on(a, O_APPEND);
		break;
	case 4:
		(void)!truncate(a, pick(3000));
		break;
	case 5:
		(void)rename(a, b);
		break;
	case 6:
		(void)chmod(a, pick(2) ? 0600 : 0755);
		break;
	case 7:
		(void)!link(a, b);
		break;
	case 8:
		(void)unlink(a);
		break;
	case 9:
		make_parents(a);
		break;
	case 10:
		some_dir(a);
		some_dir(b);
		(void)rename(a, b);
		break;
	case 11:
		some_dir(a);
		remove_tree(a);
		break;
	default:
		write_mapped(a);
		break;
	}
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: scribble DIR SEED OPERATIONS [PAUSE_US]\n");
		return 2;
	}
	state = strtoull(argv[2], NULL, 10) * 2 + 1;
	long operations = atol(argv[3]);
	long pause_us = argc > 4 ? atol(argv[4]) : 0;
	if ((mkdir(argv[1], 0755) < 0 && errno != EEXIST) || chdir(argv[1]) < 0) {
		perror(argv[1]);
		return 1;
	}
	for (long i = 0; i < operations; i++) {
		operate();
		if (pause_us)
			(void)usleep(pick((unsigned)(2 * pause_us)));
	}
	return 0;
}
