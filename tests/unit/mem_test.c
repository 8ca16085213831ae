/* mem: a result is never NULL, not even for size 0, and the program ends when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"

static void never_gives_nothing(void **state)
{
	owned_mem char *none = mem_alloc(0), *zero = mem_zalloc(0), *again = mem_realloc(NULL, 0);
	owned_mem char *zeroed = mem_zalloc(1000);

	assert_non_null(none);
	assert_non_null(zero);
	assert_non_null(again);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(zeroed[i], 0);
}

static void copies_end_in_a_nul(void **state)
{
	owned_mem char *bytes = mem_dup("a\0b", 3), *nothing = mem_dup(NULL, 0);
	owned_mem char *text = mem_strdup("text"), *printed = mem_printf("%d %s", 42, "x");

	assert_memory_equal(bytes, "a\0b", 4);
	assert_string_equal(nothing, "");
	assert_string_equal(text, "text");
	assert_string_equal(printed, "42 x");
}

static void arrays_grow(void **state)
{
	int *list = NULL;
	size_t cap = 0;

	for (size_t n = 0; n < 10000; n++) {
		mem_grow(&list, &cap, n);
		assert_true(cap > n);
		list[n] = (int)n;
	}
	for (size_t n = 0; n < 10000; n++)
		assert_int_equal(list[n], n);
	free(list);
}

static void running_out_ends_the_program(void **state)
{
	struct rlimit no_core = { 0, 0 };
	volatile size_t far_too_much = SIZE_MAX / 2;
	int status, fds[2];
	char said[64] = "";

	assert_int_equal(pipe(fds), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)dup2(fds[1], STDERR_FILENO);
		free(mem_alloc(far_too_much));
		_exit(0);
	}
	close(fds[1]);
	ssize_t n = read(fds[0], said, sizeof(said) - 1);
	close(fds[0]);
	assert_true(n > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	/* A sanitizer may end the program in its own way, with its own message. */
	if (WIFSIGNALED(status) && !strncmp(said, "strata", 6))
		assert_string_equal(said, "strata: out of memory\n");
	else
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_gives_nothing),
		cmocka_unit_test(copies_end_in_a_nul),
		cmocka_unit_test(arrays_grow),
		cmocka_unit_test(running_out_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
