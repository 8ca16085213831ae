/*
 * mapper FILE... - map each file shared and writable, close it, and store each line of standard
 * input at its beginning; "stored" is printed after each line.  A file that is too short grows.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED 4096
#define FILES_MAX 16

int main(int argc, char **argv)
{
	char *maps[FILES_MAX], line[MAPPED];

	if (argc < 2 || argc > FILES_MAX) {
		fprintf(stderr, "usage: mapper FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDWR | O_CREAT | O_CLOEXEC, 0644);

		if (fd < 0 || ftruncate(fd, MAPPED) < 0)
			return perror(argv[i]), 1;
		maps[i] = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (maps[i] == MAP_FAILED)
			return perror(argv[i]), 1;
		close(fd);
	}
	puts("mapped");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 1; i < argc; i++)
			memcpy(maps[i], line, strlen(line));
		puts("stored");
		fflush(stdout);
	}
	return 0;
}
