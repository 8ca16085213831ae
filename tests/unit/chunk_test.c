/* Tests of chunk: cuts stay at the same content, keep the limits, and are the same for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "store/chunk.h"

#define SIZE ((size_t)16 << 20)
#define CUTS_MAX 128

/*
 * Make the input with splitmix64, little-endian.  The golden values below depend on this generator.
 */
static uint8_t *make_input(size_t len)
{
	uint8_t *bytes = mem_alloc(len + 8);
	uint64_t state = 42;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		z ^= z >> 31;
		for (size_t k = 0; k < 8; k++)
			bytes[i + k] = (uint8_t)(z >> 8 * k);
	}
	return bytes;
}

/* Fill cuts with the ends of all chunks.  Returns the number of chunks. */
static size_t cut_all(const uint8_t *bytes, size_t len, size_t *cuts)
{
	size_t n = 0;

	for (size_t at = 0; at < len;) {
		assert_true(n < CUTS_MAX);
		at += chunk_cut(bytes + at, len - at);
		cuts[n++] = at;
	}
	return n;
}

static void cuts_where_it_always_has(void **state)
{
	static const size_t golden[] = { 1903488, 3879963, 4374348, 5858936, 6150098, 7519655,
		7945340, 8703115, 9137370, 10567473, 11683634, 13308257, 14539312, 15141043,
		16035618, 16777216 };
	owned_mem uint8_t *bytes = make_input(SIZE);
	size_t cuts[CUTS_MAX];
	size_t n = cut_all(bytes, SIZE, cuts);

	assert_int_equal(n, sizeof(golden) / sizeof(golden[0]));
	for (size_t i = 0; i < n; i++)
		assert_int_equal(cuts[i], golden[i]);
}

static void keeps_to_the_limits(void **state)
{
	owned_mem uint8_t *bytes = make_input(SIZE);
	size_t cuts[CUTS_MAX];
	size_t n = cut_all(bytes, SIZE, cuts);

	for (size_t i = 0; i < n; i++) {
		size_t len = cuts[i] - (i ? cuts[i - 1] : 0);

		assert_true(len <= CHUNK_MAX);
		if (i + 1 < n)
			assert_true(len > CHUNK_MIN);
	}
	/* a content of equal bytes is cut at a limit */
	memset(bytes, 0, SIZE);
	n = cut_all(bytes, SIZE, cuts);
	for (size_t i = 0; i + 1 < n; i++) {
		size_t len = cuts[i] - (i ? cuts[i - 1] : 0);

		assert_true(len >= CHUNK_MIN && len <= CHUNK_MAX);
	}
}

static void takes_a_short_rest_whole(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, CHUNK_MIN - 1, CHUNK_MIN };
	owned_mem uint8_t *bytes = make_input(CHUNK_MIN);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(chunk_cut(bytes, sizes[i]), sizes[i]);
}

static void needs_no_more_than_the_longest_chunk(void **state)
{
	owned_mem uint8_t *bytes = make_input(SIZE);

	for (size_t at = 0; at + CHUNK_MAX < SIZE; at += 777777)
		assert_int_equal(
			chunk_cut(bytes + at, SIZE - at), chunk_cut(bytes + at, CHUNK_MAX));
}

/* Returns the number of cuts in a for which b has a cut at the same position plus shift. */
static size_t in_common(const size_t *a, size_t na, const size_t *b, size_t nb, long shift)
{
	size_t common = 0;

	for (size_t i = 0; i < na; i++)
		for (size_t k = 0; k < nb; k++)
			common += (long)a[i] + shift == (long)b[k];
	return common;
}

static void leaves_cuts_in_place_after_an_edit(void **state)
{
	static const struct {
		size_t at, removed, added;
	} edits[] = {
		{ 0, 0, 1 },
		{ 5 << 20, 0, 1 },
		{ 5 << 20, 0, 1000 },
		{ 5 << 20, 1, 0 },
		{ 5 << 20, 1000, 0 },
		{ 5 << 20, 100, 100 },
		{ SIZE - 1, 1, 0 },
	};
	owned_mem uint8_t *bytes = make_input(SIZE);
	size_t cuts[CUTS_MAX], edited[CUTS_MAX];
	size_t n = cut_all(bytes, SIZE, cuts);

	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		size_t size = SIZE - edits[i].removed + edits[i].added;
		size_t rest = edits[i].at + edits[i].removed;
		owned_mem uint8_t *other = mem_alloc(size);

		memcpy(other, bytes, edits[i].at);
		memset(other + edits[i].at, 'x', edits[i].added);
		memcpy(other + edits[i].at + edits[i].added, bytes + rest, SIZE - rest);
		size_t m = cut_all(other, size, edited);
		size_t same = in_common(cuts, n, edited, m, 0);
		if (size != SIZE)
			same += in_common(cuts, n, edited, m, (long)size - (long)SIZE);
		/* only the edited chunk, and at most two chunks behind it, may have changed */
		assert_true(same + 3 >= n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_where_it_always_has),
		cmocka_unit_test(keeps_to_the_limits),
		cmocka_unit_test(takes_a_short_rest_whole),
		cmocka_unit_test(needs_no_more_than_the_longest_chunk),
		cmocka_unit_test(leaves_cuts_in_place_after_an_edit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
