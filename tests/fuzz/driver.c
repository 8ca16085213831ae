/*
 * driver - runs saved inputs through a fuzz target without libFuzzer.
 *
 * Usage: fuzz_X [FILE|DIRECTORY]...  The empty input comes first.  Then come all named files, and
 * the files directly in named directories, except hidden ones.  A missing directory is an empty
 * corpus.  The output is TAP.  Each input is printed before it runs, so after a crash the last line
 * names the input that caused it.  The program ends if an input takes more than a minute, or more
 * memory than the limit.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS_MAX 60
#define MEMORY_MAX ((rlim_t)1 << 30) /* a parser needs far less for a small input */
#define INPUT_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static void run_input(const char *name, const void *bytes, size_t size)
{
	/*
	 * Copy the input to memory of exactly this size, so that a sanitizer notices reads beyond
	 * its end.
	 */
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		err(1, "%s", name);
	if (size)
		memcpy(copy, bytes, size);
	printf("# input %s\n", name);
	fflush(stdout);
	alarm(SECONDS_MAX);
	LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	free(copy);
	inputs++;
}

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0)
		err(1, "%s", path);
	if ((size_t)st.st_size > INPUT_MAX)
		errx(1, "%s: too large for a saved input", path);

	char *bytes = malloc((size_t)st.st_size + 1);
	size_t size = bytes ? fread(bytes, 1, (size_t)st.st_size, file) : 0;

	if (!bytes || size != (size_t)st.st_size)
		err(1, "%s", path);
	fclose(file);
	run_input(path, bytes, size);
	free(bytes);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_directory(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, visible, alphasort);

	if (n < 0)
		err(1, "%s", path);
	for (int i = 0; i < n; i++) {
		char *file;

		if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
			err(1, "%s", path);
		run_file(file);
		free(file);
		free(entries[i]);
	}
	free(entries);
}

static void limit_memory(void)
{
	/* ASan reserves terabytes of address space, and has limits of its own. */
#if !defined(__SANITIZE_ADDRESS__)
	struct rlimit limit = { MEMORY_MAX, MEMORY_MAX };

	if (setrlimit(RLIMIT_AS, &limit) < 0)
		err(1, "setrlimit");
#endif
}

int main(int argc, char **argv)
{
	limit_memory();
	printf("1..1\n");
	run_input("(empty)", NULL, 0);
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) < 0) {
			if (errno != ENOENT)
				err(1, "%s", argv[i]);
		} else if (S_ISDIR(st.st_mode)) {
			run_directory(argv[i]);
		} else {
			run_file(argv[i]);
		}
	}
	printf("ok 1 - replays %zu inputs\n", inputs);
	return 0;
}
