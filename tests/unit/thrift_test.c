/* Tests of thrift: the bytes of the compact protocol, and every kind of fault in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "parquet/thrift.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void writes_what_the_protocol_says(void **state)
{
	static const uint8_t golden[] = {
		0x15, 0x02,             /* 1: i32 1 */
		0x26, 0x03,             /* 3: i64 -2 */
		0x11,                   /* 4: true */
		0x12,                   /* 5: false */
		0x38, 0x02, 'h', 'i',   /* 8: bytes */
		0x05, 0x30, 0xac, 0x02, /* 24, an id too far for one byte: i32 150 */
		0x1c,                   /* 25: struct */
		0x15, 0x00,             /*     1: i32 0 */
		0x00,                   /* end */
		0x19, 0x25, 0x02, 0x04, /* 26: list of i32 1, 2 */
		0x19, 0x1c, 0x00,       /* 27: list of one empty struct */
		0x19, 0xf8, 0x0f,       /* 28: list of 15 bytes */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, /* the 15 empty items end here */
		0x00, /* end */
	};
	owned(buf_release) struct buf out = BUF_INIT;
	struct thrift_out to = thrift_out_to(&out);

	thrift_put_int(&to, 1, THRIFT_I32, 1);
	thrift_put_int(&to, 3, THRIFT_I64, -2);
	thrift_put_bool(&to, 4, true);
	thrift_put_bool(&to, 5, false);
	thrift_put_bytes(&to, 8, STR("hi"));
	thrift_put_int(&to, 24, THRIFT_I32, 150);
	thrift_put_struct(&to, 25);
	thrift_put_int(&to, 1, THRIFT_I32, 0);
	thrift_put_end(&to);
	thrift_put_list(&to, 26, THRIFT_I32, 2);
	thrift_put_int(&to, THRIFT_ITEM, THRIFT_I32, 1);
	thrift_put_int(&to, THRIFT_ITEM, THRIFT_I32, 2);
	thrift_put_list(&to, 27, THRIFT_STRUCT, 1);
	thrift_put_struct(&to, THRIFT_ITEM);
	thrift_put_end(&to);
	thrift_put_list(&to, 28, THRIFT_BYTES, 15);
	for (int i = 0; i < 15; i++)
		thrift_put_bytes(&to, THRIFT_ITEM, STR(""));
	thrift_put_end(&to);
	assert_int_equal(out.len, sizeof(golden));
	assert_memory_equal(out.data, golden, sizeof(golden));
}

/* Write a struct with every type of value in the fields 1 to 9, and 77 in field 20. */
static void put_all(struct buf *out)
{
	struct thrift_out to = thrift_out_to(out);

	thrift_put_int(&to, 1, THRIFT_I16, -5);
	thrift_put_bool(&to, 2, true);
	thrift_put_bytes(&to, 3, STR("bytes"));
	thrift_put_list(&to, 4, THRIFT_STRUCT, 2);
	for (int i = 0; i < 2; i++) {
		thrift_put_struct(&to, THRIFT_ITEM);
		thrift_put_list(&to, 1, THRIFT_I64, 20);
		for (int64_t k = 0; k < 20; k++)
			thrift_put_int(&to, THRIFT_ITEM, THRIFT_I64, INT64_MIN + k);
		thrift_put_end(&to);
	}
	buf_add(out,
		"\x17"
		"12345678",
		9);                                       /* 5: double */
	buf_add(out, "\x13\xff", 2);                      /* 6: byte */
	buf_add(out, "\x1b\x02\x58\x02\x01x\x04\x00", 8); /* 7: map of i32 to bytes */
	buf_add(out, "\x1b\x00", 2);                      /* 8: map of nothing */
	buf_add(out, "\x1a\x31\x01\x02\x01", 5);          /* 9: set of booleans */
	to.last[0] = 9;
	thrift_put_int(&to, 20, THRIFT_I32, 77);
	thrift_put_end(&to);
}

static void skips_what_nobody_wants(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct thrift_field field;
	int64_t found = 0;

	put_all(&out);
	struct thrift_in in = thrift_in_of(out.data, out.len);
	while (thrift_next(&in, &field))
		if (field.id == 20)
			found = thrift_get_int(&in, &field);
		else
			thrift_skip(&in, &field);
	assert_false(in.in.bad);
	assert_int_equal(cursor_left(&in.in), 0);
	assert_int_equal(found, 77);
}

static void reads_what_was_written(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct thrift_field field, item, inner;

	put_all(&out);
	struct thrift_in in = thrift_in_of(out.data, out.len);
	assert_true(thrift_next(&in, &field));
	assert_int_equal(thrift_get_int(&in, &field), -5);
	assert_true(thrift_next(&in, &field));
	assert_int_equal(field.type, THRIFT_TRUE);
	assert_true(thrift_next(&in, &field));
	assert_true(str_eq(thrift_get_bytes(&in, &field), STR("bytes")));
	assert_true(thrift_next(&in, &field));
	assert_int_equal(thrift_get_list(&in, &field, &item), 2);
	for (int i = 0; i < 2; i++) {
		thrift_get_struct(&in, &item);
		assert_true(thrift_next(&in, &field));
		assert_int_equal(thrift_get_list(&in, &field, &inner), 20);
		for (int64_t k = 0; k < 20; k++)
			assert_true(thrift_get_int(&in, &inner) == INT64_MIN + k);
		assert_false(thrift_next(&in, &field));
	}
	assert_true(thrift_next(&in, &field));
	assert_int_equal(field.id, 5);
	assert_int_equal(field.type, THRIFT_DOUBLE);
	assert_false(in.in.bad);
}

static bool skips_all(const void *bytes, size_t len)
{
	struct thrift_in in = thrift_in_of(bytes, len);
	struct thrift_field field;

	while (thrift_next(&in, &field))
		thrift_skip(&in, &field);
	return !in.in.bad;
}

static void refuses_what_is_cut_off(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT;

	put_all(&out);
	assert_true(skips_all(out.data, out.len));
	for (size_t len = 0; len < out.len; len++) {
		owned_mem void *copy = malloc(len ? len : 1);

		memcpy(copy, out.data, len);
		assert_false(skips_all(copy, len));
	}
}

static void refuses_what_cannot_be(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
#define CASE(text) { text, sizeof(text) - 1 }
		CASE("\x1d\x00"),                 /* type 13 */
		CASE("\x10\x00"),                 /* type 0 */
		CASE("\x05\x00\x00\x00"),         /* id 0 */
		CASE("\x05\x01\x00\x00"),         /* id -1 */
		CASE("\x05\x80\x80\x04\x00\x00"), /* id 32768 */
		CASE("\x15\x80\x00\x00"),         /* number with more bytes than needed */
		CASE("\x18\x05"
		     "four\x00"),                         /* fewer bytes than the length states */
		CASE("\x19\xf5\xff\xff\xff\xff\x0f\x00"), /* list of 4 Gi items */
		CASE("\x19\x10\x00\x00"),                 /* list with the item type 0 */
		CASE("\x1b\xff\xff\xff\xff\x0f\x55\x00"), /* map of 4 Gi items */
#undef CASE
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_false(skips_all(cases[i].bytes, cases[i].len));
}

static void refuses_the_wrong_type(void **state)
{
	static const char number[] = "\x15\x02", bytes[] = "\x18\x01x";
	struct thrift_field field, item;
	struct thrift_in in = thrift_in_of(bytes, 4);

	assert_true(thrift_next(&in, &field));
	assert_int_equal(thrift_get_int(&in, &field), 0);
	assert_true(in.in.bad);
	assert_false(thrift_next(&in, &field));
	for (int i = 0; i < 3; i++) {
		in = thrift_in_of(number, 3);
		assert_true(thrift_next(&in, &field));
		if (i == 0)
			assert_int_equal(thrift_get_bytes(&in, &field).len, 0);
		else if (i == 1)
			assert_int_equal(thrift_get_list(&in, &field, &item), 0);
		else
			thrift_get_struct(&in, &field);
		assert_true(in.in.bad);
	}
}

static void goes_so_deep_and_no_deeper(void **state)
{
	char bytes[1000];

	memset(bytes, 0x1c, sizeof(bytes));
	assert_false(skips_all(bytes, sizeof(bytes)));
	memset(bytes, 0x19, sizeof(bytes));
	assert_false(skips_all(bytes, sizeof(bytes)));
	memset(bytes, 0, sizeof(bytes));
	memset(bytes, 0x1c, THRIFT_DEPTH - 1);
	assert_true(skips_all(bytes, sizeof(bytes)));
	bytes[THRIFT_DEPTH - 1] = 0x1c;
	assert_false(skips_all(bytes, sizeof(bytes)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_what_the_protocol_says),
		cmocka_unit_test(skips_what_nobody_wants),
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(refuses_what_is_cut_off),
		cmocka_unit_test(refuses_what_cannot_be),
		cmocka_unit_test(refuses_the_wrong_type),
		cmocka_unit_test(goes_so_deep_and_no_deeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
