/* json: punctuation, nesting, escapes and the sink. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/own.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void write_sample(struct json *json)
{
	json_open(json, NULL, '{');
	json_text(json, "name", "a b");
	json_open(json, "list", '[');
	json_int(json, NULL, INT64_MIN);
	json_uint(json, NULL, UINT64_MAX);
	json_open(json, NULL, '{');
	json_close(json);
	json_open(json, NULL, '[');
	json_close(json);
	json_close(json);
	json_bool(json, "yes", true);
	json_bool(json, "no", false);
	json_none(json, "nothing");
	json_text(json, "absent", NULL);
	json_close(json);
}

static void writes_a_compact_document_on_one_line(void **state)
{
	owned(json_release) struct json json = JSON_INIT;

	write_sample(&json);
	assert_int_equal(json_end(&json), 0);
	assert_string_equal(json.out.data,
		"{\"name\":\"a b\",\"list\":[-9223372036854775808,18446744073709551615,{},[]],"
		"\"yes\":true,\"no\":false,\"nothing\":null,\"absent\":null}\n");
}

static void writes_a_pretty_document_with_two_spaces(void **state)
{
	owned(json_release) struct json json = JSON_INIT;

	json.pretty = true;
	write_sample(&json);
	assert_int_equal(json_end(&json), 0);
	assert_string_equal(json.out.data, "{\n"
					   "  \"name\": \"a b\",\n"
					   "  \"list\": [\n"
					   "    -9223372036854775808,\n"
					   "    18446744073709551615,\n"
					   "    {},\n"
					   "    []\n"
					   "  ],\n"
					   "  \"yes\": true,\n"
					   "  \"no\": false,\n"
					   "  \"nothing\": null,\n"
					   "  \"absent\": null\n"
					   "}\n");
}

static void writes_one_document_after_another(void **state)
{
	owned(json_release) struct json json = JSON_INIT;

	json_int(&json, NULL, 1);
	assert_int_equal(json_end(&json), 0);
	json_open(&json, NULL, '[');
	json_close(&json);
	assert_int_equal(json_end(&json), 0);
	assert_string_equal(json.out.data, "1\n[]\n");
}

/*
 * Parts that were written elsewhere are inserted in the right places.  One of the two parts is
 * empty.
 */
static void puts_parts_in_their_place(void **state)
{
	for (int pretty = 0; pretty < 2; pretty++) {
		owned(json_release) struct json whole = JSON_INIT, parted = JSON_INIT;
		struct json parts[3] = { JSON_INIT, JSON_INIT, JSON_INIT };

		whole.pretty = parted.pretty = pretty;
		json_open(&whole, NULL, '[');
		json_open(&parted, NULL, '[');
		for (int i = 0; i < 3; i++)
			json_part(&parts[i], &parted, i == 0);
		for (int i = 0; i < 4; i++) {
			struct json *part = &parts[i < 2 ? 0 : 2];

			json_open(part, NULL, '{');
			json_int(part, "n", i);
			json_close(part);
			json_open(&whole, NULL, '{');
			json_int(&whole, "n", i);
			json_close(&whole);
		}
		for (int i = 0; i < 3; i++) {
			json_add_part(&parted, &parts[i]);
			json_release(&parts[i]);
		}
		json_int(&whole, NULL, 4);
		json_int(&parted, NULL, 4);
		json_close(&whole);
		json_close(&parted);
		assert_int_equal(json_end(&whole), 0);
		assert_int_equal(json_end(&parted), 0);
		assert_string_equal(parted.out.data, whole.out.data);
	}
}

static void repeats_what_was_closed_last(void **state)
{
	for (int pretty = 0; pretty < 2; pretty++) {
		owned(json_release) struct json again = JSON_INIT, anew = JSON_INIT;
		struct json *both[] = { &again, &anew };

		for (int i = 0; i < 2; i++) {
			struct json *json = both[i];

			json->pretty = pretty;
			json_open(json, NULL, '{');
			for (int j = 0; j < 3; j++) {
				if (j && i == 0) {
					json_again(json, "more");
					continue;
				}
				json_open(json, j ? "more" : "first", '{');
				json_open(json, "inner", '[');
				json_int(json, NULL, 1);
				json_close(json);
				json_text(json, "text", "as long as it makes the buffer grow");
				json_close(json);
			}
			json_close(json);
			assert_int_equal(json_end(json), 0);
		}
		assert_string_equal(again.out.data, anew.out.data);
	}
}

static int gather(void *arg, const char *bytes, size_t len)
{
	buf_add(arg, bytes, len);
	return 0;
}

/* The parts have all sizes: a large part is longer than the buffer of the whole document. */
static void drains_parts_in_their_order(void **state)
{
	static const size_t sizes[] = { 10, 200000, 0, 70000, 5 };
	owned(buf_release) struct buf drained = BUF_INIT, text = BUF_INIT;
	owned(json_release) struct json whole = JSON_INIT, part = JSON_INIT, kept = JSON_INIT;

	whole.sink = gather;
	whole.arg = &drained;
	json_open(&whole, NULL, '[');
	json_open(&kept, NULL, '[');
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		buf_clear(&text);
		for (size_t j = 0; j < sizes[i]; j++)
			buf_addc(&text, (char)('a' + i));
		json_part(&part, &whole, i == 0);
		if (text.len) {
			json_text(&part, NULL, text.data);
			json_text(&kept, NULL, text.data);
		}
		json_add_part(&whole, &part);
		assert_int_equal(part.out.len, 0);
	}
	json_close(&whole);
	json_close(&kept);
	assert_int_equal(json_end(&whole), 0);
	assert_int_equal(json_end(&kept), 0);
	assert_string_equal(drained.data, kept.out.data);
}

static void fails_with_a_part_past_its_ceiling(void **state)
{
	owned(json_release) struct json whole = JSON_INIT, part = JSON_INIT;

	json_open(&whole, NULL, '[');
	part.out.max = 8;
	json_part(&part, &whole, true);
	json_text(&part, NULL, "longer than that");
	json_add_part(&whole, &part);
	json_close(&whole);
	assert_int_equal(json_end(&whole), -1);
}

static void writes_reals_that_read_back_the_same(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0.0\n" },
		{ -0.0, "-0.0\n" },
		{ 2, "2.0\n" },
		{ 0.1, "0.1\n" },
		{ 1.0 / 3, "0.3333333333333333\n" },
		{ 1e300, "1e+300\n" },
		{ 0.1 + 0.2, "0.30000000000000004\n" },
		{ NAN, "null\n" },
		{ -INFINITY, "null\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(json_release) struct json json = JSON_INIT;

		json_double(&json, NULL, cases[i].value);
		assert_int_equal(json_end(&json), 0);
		assert_string_equal(json.out.data, cases[i].text);
	}
}

static void quotes_any_bytes(void **state)
{
	static const struct {
		struct str raw;
		const char *quoted;
	} cases[] = {
		{ { NULL, 0 }, "\"\"" },
		{ STR("plain"), "\"plain\"" },
		{ STR("\"\\/"), "\"\\\"\\\\/\"" },
		{ STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
		{ STR("a\0b\x01\x1f\x7f"), "\"a\\u0000b\\u0001\\u001f\\u007f\"" },
		{ STR("\u00e4\u2028\u20ac\U0001f600"), "\"\u00e4\u2028\u20ac\U0001f600\"" },
		{ STR("\xc2\x9b"
		      "2J"),
			"\"\\u009b2J\"" },
		{ STR("\x80z\xff"), "\"\\udc80z\\udcff\"" },
		{ STR("\xc3"), "\"\\udcc3\"" },
		{ STR("\xc3\xc3\xa4"), "\"\\udcc3\u00e4\"" },
		{ STR("\xe2\x82"), "\"\\udce2\\udc82\"" },
		{ STR("\xc0\xaf"), "\"\\udcc0\\udcaf\"" },
		{ STR("\xed\xa0\x80"), "\"\\udced\\udca0\\udc80\"" },
		{ STR("\xed\xbf\xbf"), "\"\\udced\\udcbf\\udcbf\"" },
		{ STR("\xf4\x90\x80\x80"), "\"\\udcf4\\udc90\\udc80\\udc80\"" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		json_quote(&out, cases[i].raw);
		assert_string_equal(out.data, cases[i].quoted);
	}
}

static void quotes_what_a_key_needs(void **state)
{
	owned(json_release) struct json json = JSON_INIT;

	json_open(&json, NULL, '{');
	json_str(&json, "a\"b", STR("c"));
	json_close(&json);
	assert_string_equal(json.out.data, "{\"a\\\"b\":\"c\"}");
}

struct counter {
	size_t calls;
	size_t bytes;
	size_t fail_at; /* number of the call that fails, counted from 1 */
};

static int count_bytes(void *arg, const char *bytes, size_t len)
{
	struct counter *counter = arg;

	counter->calls++;
	counter->bytes += len;
	return counter->calls == counter->fail_at ? -1 : 0;
}

static void write_many(struct json *json, size_t count)
{
	json_open(json, NULL, '[');
	for (size_t i = 0; i < count; i++)
		json_text(json, NULL, "0123456789");
	json_close(json);
}

static void drains_into_the_sink_as_it_goes(void **state)
{
	struct counter counter = { 0 };
	owned(json_release) struct json json = JSON_INIT;

	json.sink = count_bytes;
	json.arg = &counter;
	write_many(&json, 100000);
	assert_true(counter.calls >= 10);
	assert_true(json.out.cap <= 256 << 10);
	assert_int_equal(json_end(&json), 0);
	assert_int_equal(counter.bytes, 1300002);
	assert_int_equal(json.out.len, 0);
}

static void stays_failed_once_the_sink_failed(void **state)
{
	struct counter counter = { .fail_at = 2 };
	owned(json_release) struct json json = JSON_INIT;

	json.sink = count_bytes;
	json.arg = &counter;
	write_many(&json, 100000);
	assert_true(json.failed);
	assert_int_equal(json_end(&json), -1);
	assert_int_equal(counter.calls, 2);
	assert_true(json.out.cap <= 256 << 10);
}

static void reports_a_document_past_its_ceiling(void **state)
{
	owned(json_release) struct json json = { .out = { .max = 1000 } };

	write_many(&json, 100);
	assert_int_equal(json_end(&json), -1);
}

static void nests_to_the_limit(void **state)
{
	owned(json_release) struct json json = JSON_INIT;

	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_open(&json, NULL, '[');
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_close(&json);
	assert_int_equal(json_end(&json), 0);
	assert_int_equal(json.out.len, 2 * JSON_DEPTH_MAX + 1);
}

static void forgets_what_came_after_a_mark(void **state)
{
	owned(json_release) struct json json = JSON_INIT;

	json_open(&json, NULL, '{');
	struct json_mark empty = json_mark(&json);
	json_open(&json, "a", '[');
	json_int(&json, NULL, 1);
	json_rewind(&json, empty);
	json_int(&json, "b", 2);
	struct json_mark mark = json_mark(&json);
	json_open(&json, "c", '{');
	json_rewind(&json, mark);
	json_members(&json, STR("\"d\":3,\"e\":4"));
	json_int(&json, "f", 5);
	json_close(&json);
	assert_int_equal(json_end(&json), 0);
	assert_string_equal(json.out.data, "{\"b\":2,\"d\":3,\"e\":4,\"f\":5}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_a_compact_document_on_one_line),
		cmocka_unit_test(writes_a_pretty_document_with_two_spaces),
		cmocka_unit_test(writes_one_document_after_another),
		cmocka_unit_test(puts_parts_in_their_place),
		cmocka_unit_test(repeats_what_was_closed_last),
		cmocka_unit_test(drains_parts_in_their_order),
		cmocka_unit_test(fails_with_a_part_past_its_ceiling),
		cmocka_unit_test(writes_reals_that_read_back_the_same),
		cmocka_unit_test(quotes_any_bytes),
		cmocka_unit_test(quotes_what_a_key_needs),
		cmocka_unit_test(drains_into_the_sink_as_it_goes),
		cmocka_unit_test(stays_failed_once_the_sink_failed),
		cmocka_unit_test(reports_a_document_past_its_ceiling),
		cmocka_unit_test(nests_to_the_limit),
		cmocka_unit_test(forgets_what_came_after_a_mark),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
