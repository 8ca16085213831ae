/*
 * lock: one process at a time holds a lock, others learn its name, and the lock ends with the
 * process.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/mem.h"
#include "core/own.h"

struct place {
	char path[256];
	int tmp;
	int fd;
	pid_t holder;
	int told; /* the holder writes here when it has the lock */
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
	return place->fd < 0;
}

static void end_holder(struct place *place)
{
	int status;

	if (place->holder <= 0)
		return;
	kill(place->holder, SIGKILL);
	waitpid(place->holder, &status, 0);
	place->holder = 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	end_holder(place);
	(void)at_remove_tree(place->tmp, strrchr(place->path, '/') + 1, &place->err);
	close(place->fd);
	close(place->tmp);
	free(place);
	return 0;
}

#define place_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/*
 * In another process, take the lock and hold it for ms milliseconds.  If ms is 0, hold it until the
 * process is killed.
 */
static void hold(struct place *place, enum lock_mode mode, const char *what, unsigned ms)
{
	int fds[2];
	char c;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	place->holder = fork();
	assert_true(place->holder >= 0);
	if (!place->holder) {
		struct err err = { 0 };

		if (lock_take(place->fd, "lock", mode, 0, what, &err) < 0 ||
			write(fds[1], "x", 1) != 1)
			_exit(1);
		if (ms)
			usleep(ms * 1000);
		else
			pause();
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void names_who_holds_it(void **state)
{
	struct place *place = *state;
	char want[128];

	hold(place, LOCK_EXCLUSIVE, "commit", 0);
	int64_t began = now_ms();
	assert_int_equal(
		lock_take(place->fd, "lock", LOCK_EXCLUSIVE, 100, "gc", &place->err), -ERR_BUSY);
	assert_in_range(now_ms() - began, 80, 5000);
	snprintf(want, sizeof(want), "in use by process %d (strata commit)", (int)place->holder);
	assert_string_equal(place->err.text, want);
	assert_string_not_equal(place->err.hint, "");
	assert_int_equal(
		lock_take(place->fd, "lock", LOCK_SHARED, 0, "log", &place->err), -ERR_BUSY);
	/* A lock with another name is free. */
	owned_fd int other =
		lock_take(place->fd, "other", LOCK_EXCLUSIVE, 0, "commit", &place->err);
	assert_true(other >= 0);
}

static void is_free_once_the_holder_was_killed(void **state)
{
	struct place *place = *state;

	hold(place, LOCK_EXCLUSIVE, "a long command", 0);
	end_holder(place);
	owned_fd int fd = lock_take(place->fd, "lock", LOCK_EXCLUSIVE, 0, "gc", &place->err);
	assert_true(fd >= 0);
	/* The name of the dead holder, which was longer, is overwritten with blanks. */
	char text[256] = "", want[128];
	assert_true(at_pread_full(fd, text, sizeof(text) - 1, 0) > 0);
	int n = snprintf(want, sizeof(want), "process %d (strata gc)\n", (int)getpid());
	assert_memory_equal(text, want, n);
	assert_int_equal(strspn(text + n, " "), strlen(text + n));
}

static void waits_for_the_holder_to_end(void **state)
{
	struct place *place = *state;

	hold(place, LOCK_EXCLUSIVE, "commit", 100);
	owned_fd int fd = lock_take(place->fd, "lock", LOCK_EXCLUSIVE, 5000, "gc", &place->err);
	assert_true(fd >= 0);
}

static void many_may_share_it(void **state)
{
	struct place *place = *state;

	hold(place, LOCK_SHARED, "log", 0);
	owned_fd int one = lock_take(place->fd, "lock", LOCK_SHARED, 0, "ls", &place->err);
	owned_fd int two = lock_take(place->fd, "lock", LOCK_SHARED, 0, "ls", &place->err);
	assert_true(one >= 0 && two >= 0);
	close_fd(&one);
	close_fd(&two);
	assert_int_equal(
		lock_take(place->fd, "lock", LOCK_EXCLUSIVE, 0, "gc", &place->err), -ERR_BUSY);
	assert_string_equal(place->err.text, "in use by another process");
}

/*
 * A process that shares the lock writes no name.  The name in the file may be that of an earlier
 * holder, so it must not be reported.
 */
static void does_not_blame_the_dead(void **state)
{
	struct place *place = *state;
	char dead[64];

	hold(place, LOCK_EXCLUSIVE, "commit", 0);
	snprintf(dead, sizeof(dead), "process %d ", (int)place->holder);
	end_holder(place);
	hold(place, LOCK_SHARED, "log", 0);
	assert_int_equal(
		lock_take(place->fd, "lock", LOCK_EXCLUSIVE, 0, "gc", &place->err), -ERR_BUSY);
	assert_null(strstr(place->err.text, dead));
}

static void survives_a_name_of_any_length(void **state)
{
	struct place *place = *state;
	char what[400];

	memset(what, 'x', sizeof(what));
	what[sizeof(what) - 1] = '\0';
	hold(place, LOCK_EXCLUSIVE, what, 0);
	assert_int_equal(
		lock_take(place->fd, "lock", LOCK_EXCLUSIVE, 0, "gc", &place->err), -ERR_BUSY);
}

static void does_not_follow_a_link(void **state)
{
	struct place *place = *state;

	assert_int_equal(symlinkat("elsewhere", place->fd, "lock"), 0);
	assert_int_equal(
		lock_take(place->fd, "lock", LOCK_EXCLUSIVE, 0, "gc", &place->err), -ERR_DENIED);
	assert_int_equal(faccessat(place->fd, "elsewhere", F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(names_who_holds_it),
		place_test(is_free_once_the_holder_was_killed),
		place_test(waits_for_the_holder_to_end),
		place_test(many_may_share_it),
		place_test(does_not_blame_the_dead),
		place_test(survives_a_name_of_any_length),
		place_test(does_not_follow_a_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
