/* child: results and errors come back, and no child outlives its parent. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/child.h"

static int succeed(void *arg, struct err *err)
{
	return *(int *)arg;
}

static int fail_with_a_hint(void *arg, struct err *err)
{
	err_set(err, ERR_LIMIT, "no room for %s", (const char *)arg);
	return err_hint(err, "make room");
}

static int die(void *arg, struct err *err)
{
	return raise(SIGKILL);
}

static void brings_a_result_back(void **state)
{
	struct err err = { 0 };
	int seven = 7;

	assert_int_equal(child_do(succeed, &seven, &err), 7);
	assert_int_equal(err.code, 0);
}

static void brings_an_error_back(void **state)
{
	struct err err = { 0 };

	assert_int_equal(child_do(fail_with_a_hint, (void *)"them", &err), -ERR_LIMIT);
	assert_string_equal(err.text, "no room for them");
	assert_string_equal(err.hint, "make room");
}

static void says_that_the_child_was_killed(void **state)
{
	struct err err = { 0 };

	assert_int_equal(child_do(die, NULL, &err), -ERR_SYSTEM);
	assert_true(err.text[0]);
}

static void gives_the_status_of_a_child(void **state)
{
	pid_t pid = child_fork();

	if (pid == 0)
		_exit(5);
	assert_int_equal(WEXITSTATUS(child_wait(pid)), 5);
	assert_int_equal(child_wait(pid), 0); /* the child was reaped already */
}

/*
 * The grandchild keeps the other end of the pipe open until it is killed together with its parent.
 */
static void ends_with_its_parent(void **state)
{
	int ends[2];
	char c;

	assert_int_equal(pipe(ends), 0);
	pid_t parent = fork();
	if (parent == 0) {
		if (child_fork() == 0)
			for (;;)
				pause();
		_exit(0);
	}
	close(ends[1]);
	(void)child_wait(parent);
	assert_int_equal(read(ends[0], &c, 1), 0);
	close(ends[0]);
}

static void leaves_out_ignored_signals(void **state)
{
	sigset_t set;

	(void)signal(SIGHUP, SIG_IGN);
	child_end_signals(&set);
	(void)signal(SIGHUP, SIG_DFL);
	assert_int_equal(sigismember(&set, SIGHUP), 0);
	assert_int_equal(sigismember(&set, SIGTERM), 1);
	assert_int_equal(sigismember(&set, SIGINT), 1);
	assert_int_equal(sigismember(&set, SIGQUIT), 1);
	assert_int_equal(sigismember(&set, SIGUSR1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brings_a_result_back),
		cmocka_unit_test(brings_an_error_back),
		cmocka_unit_test(says_that_the_child_was_killed),
		cmocka_unit_test(gives_the_status_of_a_child),
		cmocka_unit_test(ends_with_its_parent),
		cmocka_unit_test(leaves_out_ignored_signals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
