/*
 * mktree - make trees of files, and change some of the files, in the same way every time.
 *
 *	mktree make DIR FILES SIZE PER_DIR     FILES files of SIZE bytes on average
 *	mktree change DIR FILES SIZE PER_DIR COUNT ROUND
 *	                                       rewrite COUNT of them, spread over DIR
 *	mktree paths DIR FILES SIZE PER_DIR COUNT ROUND
 *	                                       print the paths that change would rewrite
 *	mktree file PATH BYTES                 one file of random bytes
 *
 * make and change print the number of bytes that they wrote.  Sizes are distributed exponentially.
 * One half of the files that make writes is random, and the other half is text.  change writes
 * random bytes of the same length as before, so that their size in a store is known.  The
 * directories that contain files are grouped in hundreds.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAN_OUT = 100, LARGEST = 16, BUFFER = 1 << 20, SMALLEST = 32 };

static struct {
	const char *dir;
	uint64_t files, size, per_dir;
} tree;

static char *buffer;

static void fail(const char *what)
{
	fprintf(stderr, "mktree: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The generator splitmix64. */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void fill_random(char *out, size_t size, uint64_t *state)
{
	for (size_t at = 0; at < size; at += 8) {
		uint64_t r = random_next(state);
		memcpy(out + at, &r, size - at < 8 ? size - at : 8);
	}
}

static void fill_text(char *out, size_t size, uint64_t *state)
{
	static const char *const words[] = { "static", "int", "return", "if", "the", "of", "struct",
		"while", "const", "char", "node", "tree", "history", "a", "and", "directory",
		"store", "error", "not", "value", "count", "NULL", "size", "for", "path", "entry",
		"void", "buffer", "is", "open", "close", "read" };
	size_t at = 0;
	while (at < size) {
		uint64_t r = random_next(state);
		char text[48];
		int n;
		if (r % 11)
			n = snprintf(text, sizeof(text), "%s%c", words[r >> 8 & 31],
				r >> 16 & 7 ? ' ' : '\n');
		else
			n = snprintf(text, sizeof(text), "%s_%x\n", words[r >> 8 & 31],
				(unsigned)(r >> 20 & 0xffff));
		for (int i = 0; i < n && at < size; i++)
			out[at++] = text[i];
	}
}

static uint64_t file_size(uint64_t file)
{
	uint64_t state = file * 2 + 1;
	double u = (random_next(&state) >> 11) * 0x1p-53;
	double size = -log(1 - u) * tree.size;
	if (size > (double)tree.size * LARGEST)
		size = (double)tree.size * LARGEST;
	return size < SMALLEST ? SMALLEST : (uint64_t)size;
}

/*
 * Set out to the path of the directory for file per_dir * number and the files after it.  If make
 * is set, make the directory, and those of its ancestors that no smaller number has.
 */
static void dir_path(char out[4096], uint64_t number, int make)
{
	uint64_t unit = 1, last = (tree.files - 1) / tree.per_dir;
	while (last / unit >= FAN_OUT)
		unit *= FAN_OUT;
	int n = snprintf(out, 2048, "%s", tree.dir);
	for (; unit; unit /= FAN_OUT) {
		n += sprintf(out + n, "/d%02d", (int)(number / unit % FAN_OUT));
		if (make && number % unit == 0 && mkdir(out, 0755) < 0)
			fail(out);
	}
}

static void file_path(char out[4096], uint64_t file)
{
	dir_path(out, file / tree.per_dir, 0);
	sprintf(out + strlen(out), "/f%06d%s", (int)(file % tree.per_dir),
		file & 1 ? ".c" : ".bin");
}

static void write_file(const char *path, uint64_t size, uint64_t seed, int text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		fail(path);
	for (uint64_t done = 0; done < size;) {
		size_t part = size - done < BUFFER ? size - done : BUFFER;
		(text ? fill_text : fill_random)(buffer, part, &seed);
		if (write(fd, buffer, part) != (ssize_t)part)
			fail(path);
		done += part;
	}
	if (close(fd) < 0)
		fail(path);
}

static uint64_t make(void)
{
	char path[4096];
	uint64_t total = 0;
	if (mkdir(tree.dir, 0755) < 0)
		fail(tree.dir);
	for (uint64_t file = 0; file < tree.files; file++) {
		if (file % tree.per_dir == 0)
			dir_path(path, file / tree.per_dir, 1);
		file_path(path, file);
		write_file(path, file_size(file), file << 24, file & 1);
		total += file_size(file);
	}
	return total;
}

static uint64_t change(uint64_t count, uint64_t round, int print_only)
{
	char path[4096];
	uint64_t total = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t file = (round * 7919 + i * (tree.files / count)) % tree.files;
		file_path(path, file);
		if (print_only)
			puts(path);
		else
			write_file(path, file_size(file), ~(round << 32 | i << 16), 0);
		total += file_size(file);
	}
	return total;
}

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	if (*end || end == text || (n == 0 && *text != '0')) {
		fprintf(stderr, "mktree: '%s' is not a number\n", text);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	buffer = malloc(BUFFER);
	if (!buffer)
		fail("malloc");
	if (argc == 4 && !strcmp(argv[1], "file")) {
		write_file(argv[2], number(argv[3]), 0x5eed, 0);
		return 0;
	}
	if (argc >= 6) {
		tree.dir = argv[2];
		tree.files = number(argv[3]);
		tree.size = number(argv[4]);
		tree.per_dir = number(argv[5]);
	}
	if (argc >= 6 && (!tree.files || !tree.per_dir)) {
		fprintf(stderr, "mktree: no files\n");
		return 2;
	}
	if (argc == 6 && !strcmp(argv[1], "make")) {
		printf("%llu\n", (unsigned long long)make());
	} else if (argc == 8 && !strcmp(argv[1], "change")) {
		uint64_t n = change(number(argv[6]), number(argv[7]), 0);
		printf("%llu\n", (unsigned long long)n);
	} else if (argc == 8 && !strcmp(argv[1], "paths")) {
		change(number(argv[6]), number(argv[7]), 1);
	} else {
		fprintf(stderr,
			"usage: mktree make|change|paths DIR FILES SIZE PER_DIR [COUNT ROUND]\n"
			"       mktree file PATH BYTES\n");
		return 2;
	}
	return 0;
}
