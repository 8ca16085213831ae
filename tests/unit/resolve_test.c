/* resolve: follows links as far as allowed, with openat2 and one name at a time. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/resolve.h"

static char top[] = "/tmp/resolve-test.XXXXXX";
static int dir = -1;

static int setup(void **state)
{
	owned_fd int fd = -1;

	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir("in/d", 0755), 0);
	assert_int_equal(mkdir("in/d/e", 0755), 0);
	fd = open("in/d/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "in", 2), 2);
	close_fd(&fd);
	fd = open("out", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(symlink("d/f", "in/file"), 0);
	assert_int_equal(symlink("../d/f", "in/d/around"), 0);
	assert_int_equal(symlink("../out", "in/out"), 0);
	assert_int_equal(symlink("/d/f", "in/absolute"), 0);
	assert_int_equal(symlink("d/e/..", "in/up"), 0);
	assert_int_equal(symlink("loop", "in/loop"), 0);
	dir = open("in", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	close_fd(&dir);
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

/* Returns 0, or the error. */
static int open_status(const char *path, int flags, enum resolve_links links)
{
	owned_fd int fd = resolve_open(dir, path, flags, links);

	return fd < 0 ? -fd : 0;
}

static void follows_links_as_far_as_allowed(void **state)
{
	static const struct {
		const char *path;
		int flags, none, beneath, within;
	} cases[] = {
		{ "d/f", O_RDONLY, 0, 0, 0 },
		{ "d//./f", O_RDONLY, 0, 0, 0 },
		{ ".", O_PATH, 0, 0, 0 },
		{ "d/", O_PATH, 0, 0, 0 },
		{ "d/f/", O_PATH, ENOTDIR, ENOTDIR, ENOTDIR },
		{ "d/f/g", O_PATH, ENOTDIR, ENOTDIR, ENOTDIR },
		{ "none", O_PATH, ENOENT, ENOENT, ENOENT },
		{ "", O_PATH, ENOENT, ENOENT, ENOENT },
		{ "/d", O_PATH, EXDEV, EXDEV, EXDEV },
		{ "../out", O_PATH, EXDEV, EXDEV, EXDEV },
		{ "d/../d/f", O_PATH, EXDEV, EXDEV, EXDEV },
		{ "file", O_RDONLY, ELOOP, 0, 0 },
		{ "file", O_PATH | O_NOFOLLOW, 0, 0, 0 },
		{ "file", O_RDONLY | O_NOFOLLOW, ELOOP, ELOOP, ELOOP },
		{ "d/around", O_RDONLY, ELOOP, 0, 0 },
		{ "up/f", O_RDONLY, ELOOP, 0, 0 },
		{ "up", O_RDONLY | O_DIRECTORY, ELOOP, 0, 0 },
		{ "out", O_RDONLY, ELOOP, EXDEV, ELOOP },
		{ "absolute", O_RDONLY, ELOOP, EXDEV, 0 },
		{ "loop", O_RDONLY, ELOOP, ELOOP, ELOOP },
		{ "file", O_RDONLY | O_DIRECTORY, ELOOP, ENOTDIR, ENOTDIR },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int wanted[] = { cases[i].none, cases[i].beneath, cases[i].within };

		for (int links = RESOLVE_LINKS_NONE; links <= RESOLVE_LINKS_WITHIN; links++) {
			int got = open_status(
				cases[i].path, cases[i].flags, (enum resolve_links)links);

			if (got != wanted[links])
				fail_msg("'%s', %x, links %d: %s instead of %s", cases[i].path,
					(unsigned)cases[i].flags, links, strerror(got),
					strerror(wanted[links]));
		}
	}
}

static void a_found_file_can_be_opened_for_reading(void **state)
{
	owned_fd int found = resolve_open(dir, "file", O_PATH, RESOLVE_LINKS_BENEATH);
	owned_fd int fd = resolve_reopen(found, O_RDONLY);
	char text[4];

	assert_int_equal(read(fd, text, sizeof(text)), 2);
	assert_memory_equal(text, "in", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_links_as_far_as_allowed),
		cmocka_unit_test(a_found_file_can_be_opened_for_reading),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
