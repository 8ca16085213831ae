/* arena: memory of any size is zeroed, aligned and separate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/arena.h"
#include "core/own.h"

#define N 2000

static void gives_zeroed_aligned_memory_of_any_size(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	unsigned char *parts[N];
	size_t sizes[N], total = 0;

	for (size_t i = 0; i < N; i++) {
		sizes[i] = i % 50 == 49 ? 20000 + i : i * 7 % 300;
		parts[i] = arena_alloc(&arena, sizes[i]);
		assert_int_equal((uintptr_t)parts[i] % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(parts[i][k], 0);
		memset(parts[i], (int)(i & 255), sizes[i]);
		total += sizes[i];
	}
	assert_true(arena.total >= total);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(parts[i][k], i & 255);
}

static void copies_text(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	char source[] = "text";
	char *copy = arena_strdup(&arena, source);
	struct str bytes = arena_str(&arena, (struct str){ "a\0b", 3 });
	struct str nothing = arena_str(&arena, (struct str){ NULL, 0 });
	char *printed = arena_printf(&arena, "%s-%05d-%20000s", "x", 42, "y");

	source[0] = 'X';
	assert_string_equal(copy, "text");
	assert_int_equal(bytes.len, 3);
	assert_memory_equal(bytes.ptr, "a\0b", 4);
	assert_int_equal(nothing.len, 0);
	assert_string_equal(nothing.ptr, "");
	assert_int_equal(strlen(printed), 2 + 5 + 1 + 20000);
	assert_memory_equal(printed, "x-00042- ", 9);
	assert_string_equal(arena_printf(&arena, "%s", ""), "");
}

static void is_empty_again_after_release(void **state)
{
	struct arena arena = { 0 };

	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 100; k++)
			arena_alloc(&arena, 1000);
		assert_true(arena.total >= 100000);
		arena_release(&arena);
		assert_int_equal(arena.total, 0);
		assert_null(arena.blocks);
		arena_release(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_zeroed_aligned_memory_of_any_size),
		cmocka_unit_test(copies_text),
		cmocka_unit_test(is_empty_again_after_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
