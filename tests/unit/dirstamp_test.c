/* dirstamp: shows every change of a directory that comes long enough after the one before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"
#include "query/dirstamp.h"

#include "tempdir_fixture.h"

struct fixture {
	char path[64];
	int dir;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->path, sizeof(fixture->path), "/tmp/strata-dirstamp.XXXXXX");
	assert_non_null(mkdtemp(fixture->path));
	fixture->dir = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fixture->dir >= 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	int r = tempdir_remove(fixture->path);

	close(fixture->dir);
	free(fixture);
	return r;
}

static struct dirstamp stamp_of(const struct fixture *fixture, enum dirstamp_times times)
{
	struct statx stx;

	assert_int_equal(at_fd_stat(fixture->dir, &stx), 0);
	return dirstamp_of(&stx, times);
}

static void make_file(const struct fixture *fixture, unsigned i)
{
	char name[32];

	snprintf(name, sizeof(name), "%u", i);
	owned_fd int fd = openat(fixture->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
}

static void set_mtime(const struct fixture *fixture, time_t sec)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = sec } };

	assert_int_equal(futimens(fixture->dir, times), 0);
}

static bool is_same(const struct fixture *fixture, struct dirstamp stamp, enum dirstamp_times times)
{
	struct dirstamp now = stamp_of(fixture, times);

	return dirstamp_is_same(&stamp, &now);
}

static void is_the_same_until_the_directory_changes(void **state)
{
	struct fixture *fixture = *state;

	set_mtime(fixture, 1000000000);
	for (enum dirstamp_times times = DIRSTAMP_BOTH; times <= DIRSTAMP_MTIME; times++) {
		struct dirstamp stamp = stamp_of(fixture, times);

		assert_true(is_same(fixture, stamp, times));
		make_file(fixture, times);
		assert_false(is_same(fixture, stamp, times));
		set_mtime(fixture, 1000000000);
	}
}

/* The clock that sets file times has ticks of some milliseconds, so some changes are not shown. */
static void misses_no_change_once_it_is_settled(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 2000; i++) {
		struct dirstamp stamp = stamp_of(fixture, DIRSTAMP_BOTH);

		make_file(fixture, i);
		assert_true(
			!is_same(fixture, stamp, DIRSTAMP_BOTH) || !dirstamp_is_settled(&stamp));
	}
}

static void only_the_ctime_shows_a_change_if_the_mtime_is_set_back(void **state)
{
	struct fixture *fixture = *state;

	set_mtime(fixture, 1000000000);
	struct dirstamp both = stamp_of(fixture, DIRSTAMP_BOTH);
	struct dirstamp mtime = stamp_of(fixture, DIRSTAMP_MTIME);
	/* The ctime is new as soon as the clock has ticked. */
	for (unsigned i = 0; i < 1000 && is_same(fixture, both, DIRSTAMP_BOTH); i++) {
		when_pause(WHEN_MS);
		make_file(fixture, i);
		set_mtime(fixture, 1000000000);
	}
	assert_false(is_same(fixture, both, DIRSTAMP_BOTH));
	assert_true(is_same(fixture, mtime, DIRSTAMP_MTIME));
	/* The old mtime says nothing about the time of the change. */
	assert_false(dirstamp_is_settled(&both));
	assert_true(dirstamp_is_settled(&mtime));
}

static void is_settled_some_time_after_the_change(void **state)
{
	static const struct {
		int64_t after; /* time from the change to the stamp */
		bool settled;
	} cases[] = {
		{ -WHEN_SECOND, false },
		{ 0, false },
		{ WHEN_SECOND, false },
		{ 2 * WHEN_SECOND, false },
		{ 2 * WHEN_SECOND + 1, true },
		{ 3600 * WHEN_SECOND, true },
	};
	struct dirstamp stamp = stamp_of(*state, DIRSTAMP_BOTH);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stamp.taken = stamp.changed + cases[i].after;
		assert_int_equal(dirstamp_is_settled(&stamp), cases[i].settled);
	}
	stamp.changed = WHEN_FIRST;
	assert_true(dirstamp_is_settled(&stamp));
	stamp.changed = WHEN_LAST;
	assert_false(dirstamp_is_settled(&stamp));
}

static void compares_inode_and_links(void **state)
{
	const struct dirstamp stamp = stamp_of(*state, DIRSTAMP_BOTH);
	struct dirstamp other = stamp;

	assert_true(dirstamp_is_same(&stamp, &other));
	other.inode++;
	assert_false(dirstamp_is_same(&stamp, &other));
	other = stamp;
	other.links++;
	assert_false(dirstamp_is_same(&stamp, &other));
}

static void an_unknown_stamp_is_never_valid(void **state)
{
	const struct dirstamp unknown = { 0 };
	struct dirstamp old = { .taken = INT64_MAX };
	struct dirstamp known = stamp_of(*state, DIRSTAMP_BOTH);

	assert_false(dirstamp_is_same(&unknown, &unknown));
	assert_false(dirstamp_is_same(&unknown, &known));
	assert_false(dirstamp_is_same(&known, &unknown));
	assert_false(dirstamp_is_settled(&old));
}

#define stamp_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		stamp_test(is_the_same_until_the_directory_changes),
		stamp_test(misses_no_change_once_it_is_settled),
		stamp_test(only_the_ctime_shows_a_change_if_the_mtime_is_set_back),
		stamp_test(is_settled_some_time_after_the_change),
		stamp_test(compares_inode_and_links),
		stamp_test(an_unknown_stamp_is_never_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
