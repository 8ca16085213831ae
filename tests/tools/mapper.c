/*
 * mapper [-p] [-t] FILE...  - map files for writing.
 *
 * Each file is mapped shared and writable, and closed.  A file that is too short is extended.  Each
 * line of standard input is stored at the beginning of every file, and "stored" is printed after
 * that.  -p: between stores the mappings are read-only.  -t: a thread stores, and the first thread
 * ends.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED 4096
#define FILES_MAX 16

static char *maps[FILES_MAX];
static int n_maps;
static int between = PROT_READ | PROT_WRITE;

static void store(const char *line)
{
	for (int i = 0; i < n_maps; i++) {
		mprotect(maps[i], MAPPED, PROT_READ | PROT_WRITE);
		memcpy(maps[i], line, strlen(line));
		mprotect(maps[i], MAPPED, between);
	}
}

static void *serve(void *unused)
{
	char line[MAPPED];

	(void)unused;
	puts("mapped");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		store(line);
		puts("stored");
		fflush(stdout);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	int option, threaded = 0;
	pthread_t thread;

	while ((option = getopt(argc, argv, "pt")) != -1) {
		if (option == 'p')
			between = PROT_READ;
		else
			threaded = 1;
	}
	if (optind == argc || argc - optind > FILES_MAX) {
		fprintf(stderr, "usage: mapper [-p] [-t] FILE...\n");
		return 2;
	}
	for (; optind < argc; optind++) {
		int fd = open(argv[optind], O_RDWR | O_CREAT | O_CLOEXEC, 0644);

		if (fd < 0 || ftruncate(fd, MAPPED) < 0)
			return perror(argv[optind]), 1;
		maps[n_maps] = mmap(NULL, MAPPED, between, MAP_SHARED, fd, 0);
		if (maps[n_maps++] == MAP_FAILED)
			return perror(argv[optind]), 1;
		close(fd);
	}
	if (!threaded)
		serve(NULL);
	if (pthread_create(&thread, NULL, serve, NULL) != 0)
		return perror("thread"), 1;
	pthread_exit(NULL);
}
