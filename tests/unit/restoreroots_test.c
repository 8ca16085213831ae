/*
 * restoreroots: only paths below the listed directories are targets, even if these directories are
 * moved or replaced later.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/mem.h"
#include "query/restoreroots.h"

#include "tempdir_fixture.h"

struct place {
	char path[256];
	int fd;
	struct restoreroots roots;
	struct err err;
};

/* "ok/in/deep" and "other" are directories, "ok/link" leads to "other", and "alias" to "ok". */
static int setup(void **state)
{
	struct place *place = mem_zalloc(sizeof(*place));
	const char *tmp = getenv("TMPDIR");

	snprintf(place->path, sizeof(place->path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(place->path))
		return -1;
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return mkdirat(place->fd, "ok", 0755) || mkdirat(place->fd, "ok/in", 0755) ||
	       mkdirat(place->fd, "ok/in/deep", 0755) || mkdirat(place->fd, "other", 0755) ||
	       mkdirat(place->fd, "ok/.zfs", 0755) || symlinkat("../other", place->fd, "ok/link") ||
	       symlinkat("in/deep", place->fd, "ok/inner") || symlinkat("ok", place->fd, "alias");
}

static int teardown(void **state)
{
	struct place *place = *state;
	int r = tempdir_remove(place->path);

	restoreroots_release(&place->roots);
	close_fd(&place->fd);
	free(place);
	return r;
}

static void add(struct place *place, const char *name)
{
	owned_mem char *path = mem_printf("%s/%s", place->path, name);

	assert_int_equal(restoreroots_add(&place->roots, path, &place->err), 0);
}

/*
 * Open a path below the place as a target.  Returns the target's name, which the caller frees, or
 * NULL.
 */
static char *open_target(struct place *place, const char *path, struct statx *dir)
{
	owned_mem char *whole = mem_printf("%s/%s", place->path, path);
	owned(restoreroots_target_release) struct restoreroots_target target = { 0 };

	place->err = (struct err){ 0 };
	if (restoreroots_open(&place->roots, str_of(whole), &target, &place->err) < 0)
		return NULL;
	assert_int_equal(at_fd_stat(target.dir, dir), 0);
	return take_ptr(&target.name);
}

static void assert_target(struct place *place, const char *path, const char *dir, const char *name)
{
	struct statx opened, wanted;
	owned_mem char *found = open_target(place, path, &opened);

	assert_non_null(found);
	assert_string_equal(found, name);
	assert_int_equal(at_name_stat(place->fd, dir, &wanted), 0);
	assert_int_equal(opened.stx_ino, wanted.stx_ino);
}

static void assert_refused(struct place *place, const char *path, enum err_code code)
{
	struct statx ignored;

	assert_null(open_target(place, path, &ignored));
	assert_int_equal(place->err.code, code);
}

static void opens_the_directory_of_a_target(void **state)
{
	struct place *place = *state;

	add(place, "ok/");
	assert_target(place, "ok/new", "ok", "new");
	assert_target(place, "ok/in/new", "ok/in", "new");
	assert_target(place, "./ok//in/./deep/new/", "ok/in/deep", "new");
	assert_target(place, "ok/..new", "ok", "..new");
	/* The target itself may be a link.  The code that writes to the target handles a link. */
	assert_target(place, "ok/link", "ok", "link");
}

static void takes_the_given_path_and_the_real_one(void **state)
{
	struct place *place = *state;

	add(place, "alias");
	assert_target(place, "alias/in/new", "ok/in", "new");
	assert_target(place, "ok/in/new", "ok/in", "new");
	/* the path of the listed directory contains ".." */
	restoreroots_release(&place->roots);
	add(place, "ok/in/..");
	assert_target(place, "ok/in/new", "ok/in", "new");
	assert_refused(place, "ok/in/../new", ERR_DENIED);
}

static void refuses_what_is_not_below(void **state)
{
	struct place *place = *state;
	static const char *const outside[] = { "other/new", "okay", "ok", "ok/", "new",
		"ok/../other/new", "ok/in/..", "ok/link/new", "ok/inner/new", "ok/.zfs/new",
		"ok/in/.zfs", "alias/new" };
	owned(restoreroots_target_release) struct restoreroots_target target = { 0 };

	assert_refused(place, "ok/new", ERR_DENIED);
	add(place, "ok");
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_refused(place, outside[i], ERR_DENIED);
	assert_refused(place, "ok/none/new", ERR_NOT_FOUND);
	close(openat(place->fd, "ok/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_refused(place, "ok/file/new", ERR_DENIED);
	assert_int_equal(
		restoreroots_open(&place->roots, STR("new"), &target, &place->err), -ERR_DENIED);
	assert_int_equal(
		restoreroots_open(&place->roots, STR(""), &target, &place->err), -ERR_DENIED);
	assert_int_equal(
		restoreroots_open(&place->roots, STR("/a\0b"), &target, &place->err), -ERR_DENIED);
}

static void refuses_names_that_are_too_long(void **state)
{
	struct place *place = *state;
	char path[400] = "ok/";

	add(place, "ok");
	memset(path + 3, 'x', 256);
	assert_refused(place, path, ERR_DENIED);
	path[3 + 255] = '\0';
	assert_target(place, path, "ok", path + 3);
}

static void keeps_to_the_directory_that_was_opened(void **state)
{
	struct place *place = *state;

	add(place, "ok");
	assert_int_equal(renameat(place->fd, "ok", place->fd, "moved"), 0);
	assert_int_equal(symlinkat("other", place->fd, "ok"), 0);
	assert_target(place, "ok/in/new", "moved/in", "new");
	assert_target(place, "ok/new", "moved", "new");
}

static void prefers_the_nearest_directory(void **state)
{
	struct place *place = *state;

	add(place, "ok");
	add(place, "ok/in");
	assert_int_equal(renameat(place->fd, "ok/in", place->fd, "away"), 0);
	assert_target(place, "ok/in/new", "away", "new");
	assert_target(place, "ok/new", "ok", "new");
	/* a listed directory is itself a target if another listed directory contains it */
	assert_target(place, "ok/in", "ok", "in");
}

static void refuses_what_is_no_directory(void **state)
{
	struct place *place = *state;
	owned_mem char *missing = mem_printf("%s/none", place->path);
	owned_mem char *zfs = mem_printf("%s/ok/.zfs", place->path);

	assert_int_equal(restoreroots_add(&place->roots, missing, &place->err), -ERR_NOT_FOUND);
	assert_true(restoreroots_add(&place->roots, "/dev/null", &place->err) < 0);
	assert_int_equal(restoreroots_add(&place->roots, zfs, &place->err), -ERR_DENIED);
	assert_int_equal(place->roots.n, 0);
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(opens_the_directory_of_a_target),
		TEST(takes_the_given_path_and_the_real_one),
		TEST(refuses_what_is_not_below),
		TEST(refuses_names_that_are_too_long),
		TEST(keeps_to_the_directory_that_was_opened),
		TEST(prefers_the_nearest_directory),
		TEST(refuses_what_is_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
