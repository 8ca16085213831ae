/*
 * removal: removes a whole tree, however deep it is and whatever its modes are, and nothing outside
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/removal.h"

#define DEPTH 3000
#define FEW_FILES 700

struct place {
	char path[256];
	int fd;
};

static int setup(void **state)
{
	struct place *place = mem_zalloc(sizeof(*place));
	const char *tmp = getenv("TMPDIR");

	snprintf(place->path, sizeof(place->path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(place->path))
		return -1;
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->fd < 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	(void)removal_run(&(struct removal){ 0 }, AT_FDCWD, place->path);
	close_fd(&place->fd);
	free(place);
	return 0;
}

static void write_file(int dirfd, const char *name)
{
	owned_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
}

static bool is_there(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_missing_and_file(void **state)
{
	struct place *place = *state;
	struct removal removal = { 0 };

	assert_int_equal(removal_run(&removal, place->fd, "nothing"), 0);
	assert_int_equal(removal.removed, 0);
	write_file(place->fd, "file");
	assert_int_equal(removal_run(&removal, place->fd, "file"), 0);
	assert_int_equal(removal.removed, 1);
	assert_false(is_there(place->fd, "file"));
}

/*
 * The tree is deeper than the limit of descriptors.  It has a file at the bottom, and a link on the
 * way.
 */
static void test_deep(void **state)
{
	struct place *place = *state;
	struct removal removal = { 0 };
	struct rlimit before, few;
	owned_fd int at = -1;

	assert_int_equal(mkdirat(place->fd, "outside", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "deep", 0755), 0);
	at = openat(place->fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(at, "d", i % 2 ? 0700 : 0500 | S_IWUSR), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close_fd(&at);
		at = next;
	}
	write_file(at, "bottom");
	assert_int_equal(symlinkat(place->path, at, "link"), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ FEW_FILES, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	int r = removal_run(&removal, place->fd, "deep");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, 0);
	assert_false(is_there(place->fd, "deep"));
	assert_true(is_there(place->fd, "outside"));
	assert_true(removal.removed >= DEPTH + 3);
}

static void test_closed_directories(void **state)
{
	struct place *place = *state;

	assert_int_equal(mkdirat(place->fd, "top", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "top/closed", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "top/closed/inner", 0755), 0);
	write_file(place->fd, "top/closed/inner/file");
	assert_int_equal(fchmodat(place->fd, "top/closed/inner", 0, 0), 0);
	assert_int_equal(fchmodat(place->fd, "top/closed", 0, 0), 0);
	assert_int_equal(fchmodat(place->fd, "top", 0500, 0), 0);
	assert_int_equal(removal_run(&(struct removal){ 0 }, place->fd, "top"), 0);
	assert_false(is_there(place->fd, "top"));
}

struct told {
	char path[64];
	int error;
	int n;
};

static void on_stays(void *arg, const char *path, int error)
{
	struct told *told = arg;

	snprintf(told->path, sizeof(told->path), "%s", path);
	told->error = error;
	told->n++;
}

static bool remove_it(void *arg, int dirfd, const char *name, const struct statx *stx)
{
	(void)arg, (void)stx;
	return !strcmp(name, "whole") && unlinkat(dirfd, name, AT_REMOVEDIR) == 0;
}

/*
 * A link to a directory is removed like any other name.  A directory may be removed in a quicker
 * way.
 */
static void test_link_and_whole(void **state)
{
	struct place *place = *state;
	struct told told = { 0 };
	struct removal removal = { .stays = on_stays, .whole = remove_it, .arg = &told };

	assert_int_equal(mkdirat(place->fd, "kept", 0755), 0);
	write_file(place->fd, "kept/file");
	assert_int_equal(mkdirat(place->fd, "top", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "top/whole", 0755), 0);
	assert_int_equal(symlinkat("../kept", place->fd, "top/link"), 0);
	assert_int_equal(removal_run(&removal, place->fd, "top"), 0);
	assert_false(is_there(place->fd, "top"));
	assert_true(is_there(place->fd, "kept/file"));
	assert_int_equal(told.n, 0);
}

/*
 * /proc cannot be removed, since it is another file system than the one where the removal begins.
 */
static void test_other_mount_is_named(void **state)
{
	struct told told = { 0 };
	struct removal removal = { .stays = on_stays, .arg = &told };
	owned_fd int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(removal_run(&removal, root, "proc"), -EBUSY);
	assert_int_equal(told.n, 1);
	assert_string_equal(told.path, "proc");
	assert_int_equal(told.error, EBUSY);
	assert_int_equal(removal.removed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_missing_and_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_directories, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_and_whole, setup, teardown),
		cmocka_unit_test(test_other_mount_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
