/*
 * Tests of pqsnappy: a block that is made in pieces is a valid block, and damage is always found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "parquet/pqsnappy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *filled(size_t len, bool noise)
{
	char *bytes = mem_alloc(len + 1);
	uint32_t x = 2463534242u;

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		bytes[i] = noise ? (char)(x >> 16) : (char)('a' + i / 7 % 26);
	}
	return bytes;
}

static void compress(struct buf *out, const char *bytes, size_t len, size_t piece)
{
	uint8_t begin[PQSNAPPY_BEGIN_MAX];

	buf_add(out, begin, pqsnappy_begin(begin, (uint32_t)len));
	for (size_t done = 0, part; done < len; done += part) {
		part = len - done < piece ? len - done : piece;
		size_t room = pqsnappy_bound(part);
		char *at = buf_reserve(out, room);
		out->len += pqsnappy_piece(at, room, bytes + done, part);
	}
}

static void gives_back_what_was_compressed(void **state)
{
	static const size_t lengths[] = { 0, 1, 100, 65535, 65536, 65537, 1 << 20, 5000001 };
	static const size_t pieces[] = { 1000, 65536, 1 << 20, SIZE_MAX };
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(lengths) * COUNT(pieces) * 2; i++) {
		size_t len = lengths[i / 2 % COUNT(lengths)];
		owned_mem char *bytes = filled(len, i % 2), *back = mem_alloc(len + 1);
		owned(buf_release) struct buf out = BUF_INIT;

		compress(&out, bytes, len, pieces[i / 2 / COUNT(lengths)]);
		assert_int_equal(pqsnappy_expand(back, len, out.data, out.len, &err), 0);
		assert_memory_equal(back, bytes, len);
		assert_true(out.len <= pqsnappy_bound(len));
		assert_true(len / SNAP_RATIO_MAX <= out.len);
	}
}

static void nothing_expands_further_than_the_ratio(void **state)
{
	const size_t len = 10 << 20;
	owned_mem char *zeros = mem_zalloc(len);
	owned(buf_release) struct buf out = BUF_INIT;

	compress(&out, zeros, len, SIZE_MAX);
	assert_true(len / SNAP_RATIO_MAX <= out.len);
}

static void damage_is_an_error_or_other_bytes_of_the_same_length(void **state)
{
	const size_t len = 2000;
	owned_mem char *bytes = filled(len, false), *back = mem_alloc(len + 1);
	owned(buf_release) struct buf out = BUF_INIT;
	struct err err = { 0 };

	compress(&out, bytes, len, SIZE_MAX);
	for (size_t i = 0; i < out.len; i++) {
		assert_int_equal(pqsnappy_expand(back, len, out.data, i, &err), -ERR_CORRUPT);
		for (int bit = 0; bit < 8; bit++) {
			out.data[i] ^= (char)(1 << bit);
			int r = pqsnappy_expand(back, len, out.data, out.len, &err);
			out.data[i] ^= (char)(1 << bit);
			assert_true(r == 0 || r == -ERR_CORRUPT);
		}
	}
	assert_int_equal(pqsnappy_expand(back, len - 1, out.data, out.len, &err), -ERR_CORRUPT);
	assert_int_equal(pqsnappy_expand(back, len + 1, out.data, out.len, &err), -ERR_CORRUPT);
	assert_int_equal(pqsnappy_expand(back, len, bytes, len, &err), -ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_back_what_was_compressed),
		cmocka_unit_test(nothing_expands_further_than_the_ratio),
		cmocka_unit_test(damage_is_an_error_or_other_bytes_of_the_same_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
