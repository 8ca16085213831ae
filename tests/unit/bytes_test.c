/* bytes: fixed integers, varints with one encoding each, and the cursor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/bytes.h"
#include "core/own.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void writes_integers_little_endian(void **state)
{
	uint8_t out[8];

	bytes_put32(out, 0x01020304);
	assert_memory_equal(out, "\4\3\2\1", 4);
	assert_int_equal(bytes_get32(out), 0x01020304);
	bytes_put64(out, UINT64_C(0xf102030405060708));
	assert_memory_equal(out, "\x08\x07\x06\x05\x04\x03\x02\xf1", 8);
	assert_int_equal(bytes_get64(out), UINT64_C(0xf102030405060708));
}

static const struct {
	uint64_t value;
	const char *bytes;
	size_t len;
} varints[] = {
	{ 0, "\0", 1 },
	{ 1, "\1", 1 },
	{ 127, "\x7f", 1 },
	{ 128, "\x80\1", 2 },
	{ 300, "\xac\2", 2 },
	{ 16383, "\xff\x7f", 2 },
	{ 16384, "\x80\x80\1", 3 },
	{ UINT32_MAX, "\xff\xff\xff\xff\x0f", 5 },
	{ INT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9 },
	{ UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10 },
};

static void writes_and_reads_varints(void **state)
{
	for (size_t i = 0; i < COUNT(varints); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		bytes_varint(&out, varints[i].value);
		assert_int_equal(out.len, varints[i].len);
		assert_memory_equal(out.data, varints[i].bytes, out.len);
		struct cursor in = cursor_of(out.data, out.len);
		assert_true(cursor_varint(&in) == varints[i].value);
		assert_false(in.bad);
		assert_int_equal(cursor_left(&in), 0);
	}
}

static void refuses_a_second_encoding_of_a_number(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "", 0 },
		{ "\x80", 1 },
		{ "\x80\0", 2 },
		{ "\xff\0", 2 },
		{ "\x80\x80\0", 3 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", 10 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81", 10 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\1", 11 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1", 11 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cursor in = cursor_of(cases[i].bytes, cases[i].len);

		assert_int_equal(cursor_varint(&in), 0);
		assert_true(in.bad);
	}
}

static void keeps_small_negatives_small(void **state)
{
	static const int64_t values[] = { 0, -1, 1, -64, 63, -65, 64, INT64_MIN, INT64_MAX };

	for (size_t i = 0; i < COUNT(values); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		bytes_svarint(&out, values[i]);
		if (values[i] >= -64 && values[i] < 64)
			assert_int_equal(out.len, 1);
		struct cursor in = cursor_of(out.data, out.len);
		assert_true(cursor_svarint(&in) == values[i]);
		assert_false(in.bad);
	}
}

static void reads_strings_and_hashes(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct hash hash, back = { 0 };

	hash_of("x", 1, &hash);
	bytes_str(&out, STR("name"));
	bytes_str(&out, STR(""));
	bytes_hash(&out, &hash);
	struct cursor in = cursor_of(out.data, out.len);
	assert_true(str_eq(cursor_str(&in), STR("name")));
	assert_true(str_eq(cursor_str(&in), STR("")));
	cursor_hash(&in, &back);
	assert_true(hash_eq(&hash, &back));
	assert_false(in.bad);
	assert_int_equal(cursor_left(&in), 0);
}

static void remembers_that_it_ran_past_the_end(void **state)
{
	struct cursor in = cursor_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1abc", 13);
	struct hash hash = { { 7 } };

	/* The largest possible length must not wrap around. */
	assert_int_equal(cursor_str(&in).len, 0);
	assert_true(in.bad);
	assert_int_equal(cursor_byte(&in), 'a');
	assert_true(in.bad);
	cursor_hash(&in, &hash);
	assert_int_equal(hash.bytes[0], 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_integers_little_endian),
		cmocka_unit_test(writes_and_reads_varints),
		cmocka_unit_test(refuses_a_second_encoding_of_a_number),
		cmocka_unit_test(keeps_small_negatives_small),
		cmocka_unit_test(reads_strings_and_hashes),
		cmocka_unit_test(remembers_that_it_ran_past_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
