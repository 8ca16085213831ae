/* Tests of syscalls: every line of the table is consistent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "trace/observe/syscalls.h"

#define ARGUMENTS 6

static void each_call_is_there_once(void **state)
{
	for (size_t i = 0; i < syscalls_count; i++) {
		const struct syscalls_call *call = &syscalls_table[i];

		assert_ptr_equal(syscalls_find(call->nr), call);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(syscalls_table[j].name, call->name);
	}
}

static void assert_argument(int8_t index)
{
	assert_true(index >= SYSCALLS_NONE && index < ARGUMENTS);
}

static void arguments_are_those_of_a_call(void **state)
{
	for (size_t i = 0; i < syscalls_count; i++) {
		const struct syscalls_call *call = &syscalls_table[i];

		assert_argument(call->dirfd);
		assert_argument(call->path);
		assert_argument(call->flags);
		assert_argument(call->dirfd2);
		assert_argument(call->path2);
		/* a call has a descriptor, or a path, or a path directly after its descriptor */
		if (call->dirfd != SYSCALLS_NONE && call->path != SYSCALLS_NONE)
			assert_int_equal(call->path, call->dirfd + 1);
		if (call->does == SYSCALLS_RENAME || call->does == SYSCALLS_LINK)
			assert_true(call->path2 > call->path);
		if (call->follow == SYSCALLS_BY_FLAG)
			assert_true(call->flags != SYSCALLS_NONE);
		assert_false(call->unless != SYSCALLS_NONE && call->only != SYSCALLS_NONE);
		assert_int_equal(call->bits != 0,
			call->unless != SYSCALLS_NONE || call->only != SYSCALLS_NONE);
	}
}

static void calls_without_files_are_not_there(void **state)
{
	assert_null(syscalls_find(SYS_read));
	assert_null(syscalls_find(SYS_write));
	assert_null(syscalls_find(SYS_mmap));
	assert_null(syscalls_find(511));
	assert_null(syscalls_find(UINT32_MAX));
	assert_string_equal(syscalls_find(SYS_openat)->name, "openat");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_is_there_once),
		cmocka_unit_test(arguments_are_those_of_a_call),
		cmocka_unit_test(calls_without_files_are_not_there),
	};

	return cmocka_run_group_tests_name("syscalls", tests, NULL, NULL);
}
