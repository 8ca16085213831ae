/*
 * Tests of observer with overlapping calls of two threads.  The calls are only shown to the
 * observer and never made, so the results do not depend on which thread is faster.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/bpf.h"
#include "trace/observe/observer.h"

struct fixture {
	char *root;                     /* a directory that contains d/file and nothing named e */
	char *directory, *other, *file; /* the paths of d, e and e/file */
	struct pathmap *map;
	struct recorder recorder;
	struct tracees *tracees;
	struct reasons *reasons;
	struct observer observer;
	pthread_t thread; /* the second thread; it has the id tid, and only waits */
	pid_t tid;
	pthread_barrier_t barrier;
};

static void *wait_about(void *arg)
{
	struct fixture *fix = arg;

	fix->tid = gettid();
	pthread_barrier_wait(&fix->barrier);
	pthread_barrier_wait(&fix->barrier);
	return NULL;
}

static int set_up(void **state)
{
	struct fixture *fix = mem_zalloc(sizeof(*fix));
	char template[] = "/tmp/strata-observer.XXXXXX";
	struct err err = { 0 };

	assert_non_null(mkdtemp(template));
	owned_fd int root = at_open_given(template, 0, 0, &err);
	fix->root = at_path_of(root, &err);
	fix->directory = mem_printf("%s/d", fix->root);
	fix->other = mem_printf("%s/e", fix->root);
	fix->file = mem_printf("%s/e/file", fix->root);
	assert_int_equal(mkdirat(root, "d", 0755), 0);
	owned_fd int file = openat(root, "d/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(file >= 0);
	fix->map = pathmap_new();
	fix->reasons = reasons_new();
	fix->tracees = tracees_new(&err);
	assert_non_null(fix->tracees);
	recorder_init(&fix->recorder, fix->map, NULL, fix->reasons);
	observer_init(&fix->observer, &fix->recorder, fix->tracees, fix->reasons);
	pthread_barrier_init(&fix->barrier, NULL, 2);
	assert_int_equal(pthread_create(&fix->thread, NULL, wait_about, fix), 0);
	pthread_barrier_wait(&fix->barrier);
	*state = fix;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fix = *state;
	struct err err = { 0 };

	pthread_barrier_wait(&fix->barrier);
	pthread_join(fix->thread, NULL);
	pthread_barrier_destroy(&fix->barrier);
	observer_finish(&fix->observer);
	observer_release(&fix->observer);
	recorder_release(&fix->recorder);
	tracees_free(fix->tracees);
	reasons_free(fix->reasons);
	pathmap_free(fix->map);
	owned_fd int root = at_open_given(fix->root, 0, 0, &err);
	assert_int_equal(unlinkat(root, "d/file", 0), 0);
	assert_int_equal(unlinkat(root, "d", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(fix->root), 0);
	free(fix->root);
	free(fix->directory);
	free(fix->other);
	free(fix->file);
	free(fix);
	return 0;
}

/* Show that the first thread opens e/file. */
static void see_open_as(struct fixture *fix, int flags)
{
	const struct traced_call call = {
		.tid = getpid(),
		.arch = BPF_NATIVE_ARCH,
		.nr = SYS_openat,
		.args = { (uint64_t)AT_FDCWD, (uintptr_t)fix->file, (uint64_t)flags },
	};

	(void)observer_see(&fix->observer, &call);
}

static void see_open(struct fixture *fix)
{
	see_open_as(fix, O_RDONLY);
}

/* Show that the first thread executes e/file. */
static void see_execution(struct fixture *fix)
{
	const struct traced_call call = {
		.tid = getpid(),
		.arch = BPF_NATIVE_ARCH,
		.nr = SYS_execve,
		.args = { (uintptr_t)fix->file },
	};

	(void)observer_see(&fix->observer, &call);
}

/* Show that the first thread makes another call. */
static void see_look(struct fixture *fix)
{
	const struct traced_call call = {
		.tid = getpid(),
		.arch = BPF_NATIVE_ARCH,
		.nr = SYS_faccessat,
		.args = { (uint64_t)AT_FDCWD, (uintptr_t)fix->root },
	};

	(void)observer_see(&fix->observer, &call);
}

/* Show that the second thread renames d to e. */
static void see_rename(struct fixture *fix)
{
	const struct traced_call call = {
		.tid = fix->tid,
		.arch = BPF_NATIVE_ARCH,
		.nr = SYS_renameat2,
		.args = { (uint64_t)AT_FDCWD, (uintptr_t)fix->directory, (uint64_t)AT_FDCWD,
			(uintptr_t)fix->other },
	};

	(void)observer_see(&fix->observer, &call);
}

static unsigned told_ops(const struct fixture *fix)
{
	const struct pathmap_entry *entry = pathmap_known(fix->map, str_of(fix->file));

	return recorder_find(&fix->recorder, entry)->ops;
}

static bool is_told_as_read(const struct fixture *fix)
{
	return told_ops(fix) & BUNDLE_READ;
}

static bool is_told_as_executed(const struct fixture *fix)
{
	return told_ops(fix) & BUNDLE_EXECUTE;
}

static void test_opened_while_it_is_renamed(void **state)
{
	struct fixture *fix = *state;

	see_rename(fix);
	see_open(fix);
	assert_true(is_told_as_read(fix));
}

static void test_renamed_while_it_is_opened(void **state)
{
	struct fixture *fix = *state;

	see_open(fix);
	assert_false(is_told_as_read(fix));
	see_rename(fix);
	assert_true(is_told_as_read(fix));
}

static void test_renamed_after_it_was_opened(void **state)
{
	struct fixture *fix = *state;

	see_open(fix);
	see_look(fix);
	see_rename(fix);
	assert_false(is_told_as_read(fix));
}

static void test_opened_for_writing_while_it_is_renamed(void **state)
{
	struct fixture *fix = *state;

	see_rename(fix);
	see_open_as(fix, O_WRONLY | O_TRUNC);
	assert_int_equal(told_ops(fix) & (BUNDLE_READ | BUNDLE_WRITE), BUNDLE_WRITE);
}

static void test_executed_while_it_is_renamed(void **state)
{
	struct fixture *fix = *state;

	see_rename(fix);
	see_execution(fix);
	assert_true(is_told_as_executed(fix));
}

static void test_renamed_while_it_is_executed(void **state)
{
	struct fixture *fix = *state;

	see_execution(fix);
	assert_false(is_told_as_executed(fix));
	see_rename(fix);
	assert_true(is_told_as_executed(fix));
}

static void test_renamed_after_it_was_executed(void **state)
{
	struct fixture *fix = *state;

	see_execution(fix);
	see_look(fix);
	see_rename(fix);
	assert_false(is_told_as_executed(fix));
}

/* The interpreter of a script can be found only when the script is at the path. */
static void test_interpreter_of_a_script_that_is_renamed(void **state)
{
	struct fixture *fix = *state;
	struct err err = { 0 };
	owned_fd int root = at_open_given(fix->root, 0, 0, &err);
	owned_mem char *script = mem_printf("#!%s/interpreter\n", fix->root);
	owned_mem char *interpreter = mem_printf("%s/interpreter", fix->root);
	owned_fd int file = openat(root, "d/file", O_WRONLY | O_CLOEXEC);

	assert_int_equal(write(file, script, strlen(script)), (ssize_t)strlen(script));
	see_execution(fix);
	see_rename(fix);
	assert_int_equal(renameat(root, "d", root, "e"), 0);
	see_look(fix);
	const struct record *record =
		recorder_find(&fix->recorder, pathmap_known(fix->map, str_of(interpreter)));
	assert_non_null(record);
	assert_true(record->ops & BUNDLE_EXECUTE);
	assert_int_equal(renameat(root, "e", root, "d"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_opened_while_it_is_renamed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_renamed_while_it_is_opened, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_renamed_after_it_was_opened, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_opened_for_writing_while_it_is_renamed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_executed_while_it_is_renamed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_renamed_while_it_is_executed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_renamed_after_it_was_executed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_interpreter_of_a_script_that_is_renamed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
