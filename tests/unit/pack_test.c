/* Tests of pack: the bytes of a record, and every kind of fault in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/zstd.h"
#include "store/pack.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The record of the blob "hello, world\n".  These bytes must never change. */
static const uint8_t golden[] = {
	'S',
	'O',
	'B',
	'J',
	1,
	0,
	0,
	0,
	13,
	0,
	0,
	0,
	13,
	0,
	0,
	0, /* header */
	0x85,
	0x3f,
	0xf9,
	0x37,
	0x62,
	0xa0,
	0x6d,
	0xdb,
	0xf7,
	0x22,
	0xc4,
	0xeb,
	0xe9,
	0xdd,
	0xd6,
	0x6d,
	0x8f,
	0x63,
	0xdd,
	0xae,
	0xa9,
	0x7f,
	0x52,
	0x1c,
	0x3e,
	0xcc,
	0x20,
	0xda,
	0x7c,
	0x97,
	0x60,
	0x20,
	'h',
	'e',
	'l',
	'l',
	'o',
	',',
	' ',
	'w',
	'o',
	'r',
	'l',
	'd',
	'\n',
};

static void writes_the_same_bytes_for_ever(void **state)
{
	struct pack_record record = { .key.type = OBJECT_BLOB, .stored = 13, .raw = 13 };
	uint8_t header[PACK_HEADER];

	hash_of("hello, world\n", 13, &record.key.hash);
	pack_encode(&record, header);
	assert_memory_equal(header, golden, PACK_HEADER);
	assert_int_equal(sizeof(golden), PACK_HEADER + 13);
	assert_memory_equal(PACK_MAGIC, "strata pack 1\n\0\0", PACK_START);
}

static void unpacks_a_plain_record(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct pack_record record;
	struct err err = { 0 };

	buf_adds(&out, "before ");
	assert_int_equal(pack_unpack(golden, sizeof(golden), &record, &out, &err), 0);
	assert_string_equal(out.data, "before hello, world\n");
	assert_int_equal(record.key.type, OBJECT_BLOB);
	assert_int_equal(record.codec, PACK_PLAIN);
}

static void unpacks_a_compressed_record(void **state)
{
	static char raw[10000];
	struct pack_record record = {
		.key.type = OBJECT_TREE, .codec = PACK_ZSTD, .raw = sizeof(raw)
	};
	uint8_t bytes[PACK_HEADER + 1000];
	owned(buf_release) struct buf out = BUF_INIT;
	struct err err = { 0 };

	record.stored = (uint32_t)zstd_compress(bytes + PACK_HEADER, 1000, raw, sizeof(raw));
	assert_true(record.stored > 0);
	hash_of(raw, sizeof(raw), &record.key.hash);
	pack_encode(&record, bytes);
	assert_int_equal(pack_unpack(bytes, PACK_HEADER + record.stored, &record, &out, &err), 0);
	assert_int_equal(out.len, sizeof(raw));
	assert_memory_equal(out.data, raw, sizeof(raw));

	/* The bytes expand to fewer bytes than the header states, and then to more. */
	buf_clear(&out);
	record.raw = sizeof(raw) + 1;
	pack_encode(&record, bytes);
	assert_int_equal(pack_unpack(bytes, sizeof(bytes), &record, &out, &err), -ERR_CORRUPT);
	record.raw = sizeof(raw) - 1;
	pack_encode(&record, bytes);
	assert_int_equal(pack_unpack(bytes, sizeof(bytes), &record, &out, &err), -ERR_CORRUPT);
	assert_int_equal(out.len, 0);
	zstd_thread_end();
}

static void refuses_a_header_that_is_not_ours(void **state)
{
	static const struct {
		unsigned at;
		uint8_t value;
	} cases[] = {
		{ 0, 's' },                                   /* magic */
		{ 4, 0 },                                     /* types */
		{ 4, OBJECT_TYPE_END }, { 4, 255 }, { 5, 2 }, /* codec */
		{ 6, 1 },                                     /* zeros */
		{ 7, 1 }, { 8, 14 },                          /* stored length too long */
		{ 8, 12 },                                    /* stored length too short */
		{ 12, 12 }, { 15, 1 },                        /* raw length wrong, or too long */
	};
	struct pack_record record;
	struct err err = { 0 };

	assert_int_equal(pack_decode(golden, &record, &err), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t bytes[sizeof(golden)];

		memcpy(bytes, golden, sizeof(bytes));
		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(pack_decode(bytes, &record, &err), -ERR_CORRUPT);
	}
}

static void finds_every_flipped_bit(void **state)
{
	for (size_t bit = 0; bit < sizeof(golden) * 8; bit++) {
		owned(buf_release) struct buf out = BUF_INIT;
		uint8_t bytes[sizeof(golden)];
		struct pack_record record;
		struct err err = { 0 };

		/* only the type is not covered by the hash; the index has the type, too */
		if (bit / 8 == 4)
			continue;
		memcpy(bytes, golden, sizeof(bytes));
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(
			pack_unpack(bytes, sizeof(bytes), &record, &out, &err), -ERR_CORRUPT);
		assert_int_equal(out.len, 0);
	}
}

static void refuses_a_record_that_is_cut_off(void **state)
{
	for (size_t len = 0; len < sizeof(golden); len++) {
		owned(buf_release) struct buf out = BUF_INIT;
		struct pack_record record;
		struct err err = { 0 };

		assert_int_equal(pack_unpack(golden, len, &record, &out, &err), -ERR_CORRUPT);
	}
}

static void names_packs_so_that_they_sort(void **state)
{
	char name[PACK_NAME_MAX];

	assert_string_equal(pack_name(7, name), "00000007.pack");
	assert_string_equal(pack_name(UINT32_MAX, name), "ffffffff.pack");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_same_bytes_for_ever),
		cmocka_unit_test(unpacks_a_plain_record),
		cmocka_unit_test(unpacks_a_compressed_record),
		cmocka_unit_test(refuses_a_header_that_is_not_ours),
		cmocka_unit_test(finds_every_flipped_bit),
		cmocka_unit_test(refuses_a_record_that_is_cut_off),
		cmocka_unit_test(names_packs_so_that_they_sort),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
