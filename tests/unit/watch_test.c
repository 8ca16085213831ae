/*
 * Tests of watch: every change below a directory is reported, also in directories that are made,
 * moved or removed.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/watch.h"
#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

struct place {
	char path[256];
	int tmp;
	int fd;
	const struct watch_without *without;
	struct watch *watch;
	struct err err;
};

static int setup(void **state)
{
	struct place *place = mem_zalloc(sizeof(*place));
	const char *tmp = getenv("TMPDIR");

	snprintf(place->path, sizeof(place->path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(place->path))
		return -1;
	place->tmp = open(tmp ? tmp : "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->fd < 0 || place->tmp < 0;
}

static int teardown(void **state)
{
	struct place *place = *state;
	struct err ignored = { 0 };

	watch_free(place->watch);
	(void)at_remove_tree(place->tmp, strrchr(place->path, '/') + 1, &ignored);
	close_fd(&place->fd);
	close_fd(&place->tmp);
	free(place);
	return 0;
}

static void begin(struct place *place)
{
	place->watch = watch_new(place->fd, place->without, &place->err);
	if (!place->watch)
		fail_msg("%s", place->err.text);
}

/* Read all reports.  Returns true if there was any. */
static bool told(struct place *place)
{
	struct pollfd ready = { .fd = watch_fd(place->watch), .events = POLLIN };
	bool any = false;

	while (poll(&ready, 1, 10) > 0) {
		int r = watch_read(place->watch, &place->err);

		assert_true(r >= 0);
		any |= r > 0;
	}
	return any;
}

static void put(struct place *place, const char *path, const char *text)
{
	owned_fd int fd = openat(place->fd, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void make(struct place *place, const char *path)
{
	assert_int_equal(mkdirat(place->fd, path, 0755), 0);
}

static void every_kind_of_change_is_told(void **state)
{
	struct place *place = *state;

	make(place, "dir");
	put(place, "dir/file", "1");
	begin(place);
	assert_int_equal(watch_count(place->watch), 2);
	assert_false(told(place));
	put(place, "dir/file", "2");
	assert_true(told(place));
	assert_int_equal(fchmodat(place->fd, "dir/file", 0600, 0), 0);
	assert_true(told(place));
	assert_int_equal(renameat(place->fd, "dir/file", place->fd, "other"), 0);
	assert_true(told(place));
	assert_int_equal(linkat(place->fd, "other", place->fd, "dir/again", 0), 0);
	assert_true(told(place));
	assert_int_equal(unlinkat(place->fd, "other", 0), 0);
	assert_true(told(place));
	assert_int_equal(symlinkat("nowhere", place->fd, "link"), 0);
	assert_true(told(place));
	assert_int_equal(utimensat(place->fd, "dir", NULL, 0), 0);
	assert_true(told(place));
	/* reading a file is not reported */
	owned_fd int fd = openat(place->fd, "dir/again", O_RDONLY | O_CLOEXEC);
	char byte;
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_false(told(place));
}

static void directories_that_come_are_watched(void **state)
{
	struct place *place = *state;

	begin(place);
	make(place, "a");
	make(place, "a/b");
	make(place, "a/b/c");
	assert_true(told(place));
	assert_int_equal(watch_count(place->watch), 4);
	put(place, "a/b/c/file", "1");
	assert_true(told(place));
	/* a directory that is filled before its watch can be in place */
	make(place, "late");
	make(place, "late/x");
	put(place, "late/x/file", "1");
	assert_true(told(place));
	put(place, "late/x/file", "2");
	assert_true(told(place));
}

static void directories_that_move_are_still_watched(void **state)
{
	struct place *place = *state;

	make(place, "a");
	make(place, "a/b");
	begin(place);
	assert_int_equal(renameat(place->fd, "a", place->fd, "moved"), 0);
	assert_true(told(place));
	put(place, "moved/b/file", "1");
	assert_true(told(place));
	/* a new directory below a moved one is found by its new path */
	make(place, "moved/b/new");
	assert_true(told(place));
	put(place, "moved/b/new/file", "1");
	assert_true(told(place));
	assert_int_equal(watch_count(place->watch), 4);
}

static void directories_that_go_are_forgotten(void **state)
{
	struct place *place = *state;

	begin(place);
	for (int i = 0; i < 40; i++) {
		make(place, "a");
		make(place, "a/b");
		assert_true(told(place));
		assert_int_equal(unlinkat(place->fd, "a/b", AT_REMOVEDIR), 0);
		assert_int_equal(unlinkat(place->fd, "a", AT_REMOVEDIR), 0);
		assert_true(told(place));
		assert_int_equal(watch_count(place->watch), 1);
	}
	assert_false(watch_partial(place->watch));
}

/* Make more events than the queue holds.  The tree is then scanned again. */
static void a_full_queue_loses_nothing(void **state)
{
	struct place *place = *state;

	begin(place);
	make(place, "early");
	for (int i = 0; i < 20000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%d", i % 100);
		put(place, name, "x");
		assert_int_equal(unlinkat(place->fd, name, 0), 0);
	}
	make(place, "lost");
	make(place, "lost/deep");
	assert_true(told(place));
	put(place, "lost/deep/file", "1");
	assert_true(told(place));
	assert_int_equal(watch_count(place->watch), 4);
}

static void links_are_not_followed(void **state)
{
	struct place *place = *state;

	make(place, "real");
	assert_int_equal(symlinkat("real", place->fd, "link"), 0);
	assert_int_equal(symlinkat("/", place->fd, "out"), 0);
	begin(place);
	assert_int_equal(watch_count(place->watch), 2);
}

static void what_is_left_out_is_not_told(void **state)
{
	static const char *const patterns[] = { "junk", "*.log", "a/cache/**" };
	struct place *place = *state;
	struct watch_without without = { .exclude = patterns, .n_exclude = 3 };

	make(place, "own");
	make(place, "own/run");
	make(place, "junk");
	make(place, "a");
	make(place, "a/cache");
	without.own = openat(place->fd, "own", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(without.own >= 0);
	place->without = &without;
	begin(place);
	assert_int_equal(watch_count(place->watch), 3);
	put(place, "own/file", "1");
	put(place, "own/run/file", "1");
	make(place, "own/new");
	put(place, "junk/file", "1");
	put(place, "a/cache/file", "1");
	put(place, "a/x.log", "1");
	make(place, "a/cache/deep");
	put(place, "a/cache/deep/file", "1");
	assert_false(told(place));
	assert_int_equal(watch_count(place->watch), 3);
	put(place, "a/file", "1");
	assert_true(told(place));
	/*
	 * A directory that is made later is excluded, too.  Its rename to another name is reported.
	 */
	make(place, "a/junk");
	put(place, "a/junk/file", "1");
	assert_false(told(place));
	assert_int_equal(renameat(place->fd, "a/junk", place->fd, "a/kept"), 0);
	assert_true(told(place));
	put(place, "a/kept/file", "1");
	assert_true(told(place));
	/* the directory of the environment gets another name, but is the same directory */
	assert_int_equal(renameat(place->fd, "own", place->fd, "a/mine"), 0);
	assert_true(told(place));
	put(place, "a/mine/file", "1");
	assert_false(told(place));
	close_fd(&without.own);
}

static void its_own_end_is_seen(void **state)
{
	struct place *place = *state;

	make(place, "upper");
	owned_fd int fd = openat(place->fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place->watch = watch_new(fd, NULL, &place->err);
	assert_non_null(place->watch);
	assert_false(watch_gone(place->watch));
	assert_int_equal(unlinkat(place->fd, "upper", AT_REMOVEDIR), 0);
	assert_true(watch_gone(place->watch));
}

int main(void)
{
#define place_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest watch[] = {
		place_test(every_kind_of_change_is_told),
		place_test(directories_that_come_are_watched),
		place_test(directories_that_move_are_still_watched),
		place_test(directories_that_go_are_forgotten),
		place_test(a_full_queue_loses_nothing),
		place_test(links_are_not_followed),
		place_test(what_is_left_out_is_not_told),
		place_test(its_own_end_is_seen),
	};

	return cmocka_run_group_tests(watch, NULL, NULL);
}
