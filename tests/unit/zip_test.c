/* zip: what was compressed comes back, and damage never passes for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/zip.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int end_thread(void **state)
{
	zip_thread_end();
	return 0;
}

/* Text that shrinks to about a tenth. */
static char *prose(size_t len)
{
	static const char words[] = "the quick brown fox jumps over the lazy dog. ";
	char *text = mem_alloc(len);

	for (size_t i = 0; i < len; i++)
		text[i] = i % 97 ? words[i % (sizeof(words) - 1)] : (char)('a' + i / 97 % 26);
	return text;
}

static char *noise(size_t len)
{
	uint64_t x = 88172645463325252u;
	char *bytes = mem_alloc(len);

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (char)(x >> 32);
	}
	return bytes;
}

static void gives_back_what_was_compressed(void **state)
{
	static const size_t lengths[] = { 64, 100, 1000, 4096, 65536, 1 << 20, 5 << 20 };
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t len = lengths[i], room = zip_bound(len);
		owned_mem char *text = prose(len), *packed = mem_alloc(room),
			       *back = mem_alloc(len);
		size_t stored = zip_compress(packed, room, text, len);

		assert_true(stored <= len - len / 16);
		if (!stored)
			continue;
		assert_int_equal(zip_expand(back, len, packed, stored, &err), 0);
		assert_memory_equal(back, text, len);
	}
}

static void leaves_alone_what_does_not_shrink(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 15, 16, 17, 1000, 1 << 20 };

	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t len = lengths[i], room = zip_bound(len);
		owned_mem char *bytes = noise(len + 1), *packed = mem_alloc(room);

		assert_int_equal(zip_compress(packed, room, bytes, len), 0);
	}
	/* Nor is anything written past the room there is. */
	owned_mem char *text = prose(100000), *packed = mem_alloc(50);
	assert_int_equal(zip_compress(packed, 50, text, 100000), 0);
}

static void damage_is_an_error_or_other_bytes_of_the_same_length(void **state)
{
	const size_t len = 2000, room = zip_bound(len);
	owned_mem char *text = prose(len), *packed = mem_alloc(room), *back = mem_alloc(len + 1);
	size_t stored = zip_compress(packed, room, text, len);
	struct err err = { 0 };

	assert_true(stored > 0);
	for (size_t i = 0; i < stored; i++) {
		assert_int_equal(zip_expand(back, len, packed, i, &err), -ERR_CORRUPT);
		for (int bit = 0; bit < 8; bit++) {
			packed[i] ^= (char)(1 << bit);
			int r = zip_expand(back, len, packed, stored, &err);

			packed[i] ^= (char)(1 << bit);
			assert_true(r == 0 || r == -ERR_CORRUPT);
		}
	}
	assert_int_equal(zip_expand(back, len - 1, packed, stored, &err), -ERR_CORRUPT);
	assert_int_equal(zip_expand(back, len + 1, packed, stored, &err), -ERR_CORRUPT);
	assert_int_equal(zip_expand(back, len, text, len, &err), -ERR_CORRUPT);
	/* The context is good for the next one. */
	assert_int_equal(zip_expand(back, len, packed, stored, &err), 0);
	assert_memory_equal(back, text, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(gives_back_what_was_compressed, end_thread),
		cmocka_unit_test_teardown(leaves_alone_what_does_not_shrink, end_thread),
		cmocka_unit_test_teardown(
			damage_is_an_error_or_other_bytes_of_the_same_length, end_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
