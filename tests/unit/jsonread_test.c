/* jsonread: values and their types, raw bytes in strings, limits, refusals. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/jsonread.h"
#include "core/mem.h"
#include "core/own.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct jsonread *parse(const char *text)
{
	struct err err = { 0 };
	struct jsonread *value = jsonread_new(str_of(text), &err);

	if (!value)
		print_error("%s: %s\n", text, err.text);
	assert_non_null(value);
	return value;
}

static enum err_code refusal(struct str text)
{
	struct err err = { 0 };

	assert_null(jsonread_new(text, &err));
	assert_true(err.text[0] != '\0');
	return err.code;
}

static void reads_every_type(void **state)
{
	owned(jsonread_freep) struct jsonread *list = parse(
		" [null, true, false, -9223372036854775808, 2.5, \"a\\tb\", [], {\"k\": 1}] ");

	assert_int_equal(jsonread_type(list), JSONREAD_ARRAY);
	assert_int_equal(jsonread_count(list), 8);
	assert_int_equal(jsonread_type(jsonread_item(list, 0)), JSONREAD_NULL);
	assert_true(jsonread_bool(jsonread_item(list, 1)));
	assert_false(jsonread_bool(jsonread_item(list, 2)));
	assert_true(jsonread_int(jsonread_item(list, 3)) == INT64_MIN);
	assert_true(jsonread_real(jsonread_item(list, 4)) == 2.5);
	assert_true(str_eq(jsonread_str(jsonread_item(list, 5)), STR("a\tb")));
	assert_int_equal(jsonread_count(jsonread_item(list, 6)), 0);
	assert_true(str_eq(jsonread_key(jsonread_item(list, 7), 0), STR("k")));
}

static void reads_a_value_that_is_no_container(void **state)
{
	owned(jsonread_freep) struct jsonread *number = parse("7");
	owned(jsonread_freep) struct jsonread *text = parse("\"\"");

	assert_int_equal(jsonread_int(number), 7);
	assert_int_equal(jsonread_count(number), 0);
	assert_int_equal(jsonread_str(text).len, 0);
}

static void tells_absent_null_and_wrong_type_apart(void **state)
{
	owned(jsonread_freep) struct jsonread *object =
		parse("{\"n\":null,\"i\":3,\"f\":3.0,\"s\":\"x\",\"b\":true,\"o\":{}}");
	const struct jsonread *inner = NULL;
	struct str text = STR("untouched");
	int64_t number = -1;
	bool truth = false;

	assert_int_equal(jsonread_get_str(object, "none", &text), JSONREAD_ABSENT);
	assert_int_equal(jsonread_get_str(object, "n", &text), JSONREAD_IS_NULL);
	assert_int_equal(jsonread_get_str(object, "i", &text), JSONREAD_WRONG_TYPE);
	assert_true(str_eq(text, STR("untouched")));
	assert_int_equal(jsonread_get_str(object, "s", &text), JSONREAD_FOUND);
	assert_true(str_eq(text, STR("x")));

	assert_int_equal(jsonread_get_int(object, "f", &number), JSONREAD_WRONG_TYPE);
	assert_int_equal(jsonread_get_int(object, "b", &number), JSONREAD_WRONG_TYPE);
	assert_int_equal(jsonread_get_int(object, "i", &number), JSONREAD_FOUND);
	assert_int_equal(number, 3);

	assert_int_equal(jsonread_get_bool(object, "i", &truth), JSONREAD_WRONG_TYPE);
	assert_int_equal(jsonread_get_bool(object, "b", &truth), JSONREAD_FOUND);
	assert_true(truth);

	assert_int_equal(jsonread_get_object(object, "s", &inner), JSONREAD_WRONG_TYPE);
	assert_int_equal(jsonread_get_object(object, "o", &inner), JSONREAD_FOUND);
	assert_int_equal(jsonread_type(inner), JSONREAD_OBJECT);
}

static void finds_no_member_in_what_is_no_object(void **state)
{
	owned(jsonread_freep) struct jsonread *list = parse("[\"a\"]");

	assert_null(jsonread_member(list, "a"));
}

static void takes_the_last_of_a_key_given_twice(void **state)
{
	owned(jsonread_freep) struct jsonread *object = parse("{\"a\":1,\"b\":2,\"a\":3}");
	int64_t number = 0;

	assert_int_equal(jsonread_get_int(object, "a", &number), JSONREAD_FOUND);
	assert_int_equal(number, 3);
	assert_int_equal(jsonread_count(object), 2);
	assert_true(str_eq(jsonread_key(object, 0), STR("b")));
}

static void takes_an_object_of_many_keys(void **state)
{
	owned(buf_release) struct buf text = BUF_INIT;
	int64_t number = 0;

	for (int i = 0; i < 60000; i++)
		buf_addf(&text, "%c\"k%d\":%d", i ? ',' : '{', i % 50000, i);
	buf_addc(&text, '}');
	owned(jsonread_freep) struct jsonread *object = parse(text.data);
	assert_int_equal(jsonread_count(object), 50000);
	assert_int_equal(jsonread_get_int(object, "k7", &number), JSONREAD_FOUND);
	assert_int_equal(number, 50007);
}

static const struct {
	const char *json;
	struct str raw;
} strings[] = {
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", STR("\"\\/\b\f\n\r\t") },
	{ "\"\\u00e4\\u20ac\\ud83d\\ude00\"", STR("\u00e4\u20ac\U0001f600") },
	{ "\"\u00e4\u20ac\U0001f600\"", STR("\u00e4\u20ac\U0001f600") },
	{ "\"\\udc80z\\uDCFF\"", STR("\x80z\xff") },
	{ "\"\\udcc3\\udca4\"", STR("\xc3\xa4") },
	/* The second half of a pair is not decoded as a byte, even if it has the value of one. */
	{ "\"\\ud83d\\udc80\"", STR("\U0001f480") },
	{ "\"\\ud83d\\udc80\\udc80\"", STR("\U0001f480\x80") },
	{ "\"\\u0000\"", STR("\0") },
	{ "\"\\u0000\\u0000\"", STR("\0\0") },
	{ "\"\\u0000\\u0080\"", STR("\0\xc2\x80") },
	{ "\"\\u0000\\udc80\\u0000\\u00ff\"", STR("\0\x80\0\xc3\xbf") },
	{ "\"\\\\udc80\"", STR("\\udc80") },
	{ "\"\\\\\\udc80\"", STR("\\\x80") },
};

static void gives_strings_as_raw_bytes(void **state)
{
	for (size_t i = 0; i < COUNT(strings); i++) {
		owned(jsonread_freep) struct jsonread *value = parse(strings[i].json);

		if (!str_eq(jsonread_str(value), strings[i].raw))
			print_error("case %zu\n", i);
		assert_true(str_eq(jsonread_str(value), strings[i].raw));
	}
}

static void reads_back_what_the_writer_quotes(void **state)
{
	char all[512];
	size_t n = 0;

	for (int c = 0; c < 256; c++) {
		all[n++] = (char)c;
		all[n++] = (char)(255 - c);
	}
	for (size_t len = 0; len <= n; len++) {
		owned(buf_release) struct buf quoted = BUF_INIT;
		struct err err = { 0 };

		json_quote(&quoted, (struct str){ all + (n - len), len });
		owned(jsonread_freep) struct jsonread *value =
			jsonread_new((struct str){ quoted.data, quoted.len }, &err);
		assert_non_null(value);
		assert_true(str_eq(jsonread_str(value), (struct str){ all + (n - len), len }));
	}
}

static void refuses_what_is_not_json(void **state)
{
	static const struct str bad[] = {
		STR(""),
		STR(" "),
		STR("{"),
		STR("[1,]"),
		STR("{\"a\":1,}"),
		STR("{a:1}"),
		STR("'a'"),
		STR("01"),
		STR("+1"),
		STR(".5"),
		STR("1."),
		STR("NaN"),
		STR("nul"),
		STR("1 2"),
		STR("[1]]"),
		STR("\"a"),
		STR("\"\\"),
		STR("\"\\u12\""),
		STR("\"\\x41\""),
		STR("\"a\nb\""),
		STR("\"a\0b\""),
		STR("\"\x80\""),
		STR("\"\xed\xb2\x80\""), /* a surrogate that is not escaped */
		STR("\"\\ud800\""),
		STR("\"\\ud83dx\""),
		STR("\"\\udc7f\""),
		STR("\"\\udd00\""),
		STR("{\"\\u0000\":1}"),
		STR("{\"\\udc80\":1}"),
		STR("9223372036854775808"),
		STR("1e400"),
		STR("\xef\xbb\xbf{}"),
		STR("\"\\ud83d\"\\udc00"), /* a pair that is cut by the end of the string */
		STR("-"),
		STR("1e"),
		STR("1e+"),
		STR("-9223372036854775809"),
		STR("truefalse"),
		STR("[1\0]"),
		STR("{\"a\":1 \"b\":2}"),
	};

	for (size_t i = 0; i < COUNT(bad); i++)
		if (refusal(bad[i]) != ERR_INVALID)
			fail_msg("case %zu: %s", i, bad[i].ptr);
}

static void says_where_it_stopped(void **state)
{
	static const struct {
		const char *text, *place;
	} cases[] = {
		{ "{\n \"a\": x}", "(line 2, column 7)" },
		{ "", "(line 1, column 1)" },
		{ "[1 2]", "(line 1, column 4)" },
		{ "[1,\n\n 2", "(line 3, column 3)" },
		{ "{\"a\" 1}", "(line 1, column 6)" },
		{ "\"ab\\q\"", "(line 1, column 4)" },
		{ "[\"a\tb\"]", "(line 1, column 4)" },
		{ "[12345678901234567890]", "(line 1, column 2)" },
		{ "{} x", "(line 1, column 4)" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };

		assert_null(jsonread_new(str_of(cases[i].text), &err));
		if (!strstr(err.text, cases[i].place))
			fail_msg("'%s': %s", cases[i].text, err.text);
	}
}

static void nests_to_the_limit_and_no_further(void **state)
{
	owned(buf_release) struct buf text = BUF_INIT;

	for (int i = 0; i < JSONREAD_DEPTH_MAX; i++)
		buf_adds(&text, i % 2 ? "{\"a\":" : "[");
	buf_adds(&text, "\"[[[[\"");
	for (int i = JSONREAD_DEPTH_MAX; i > 0; i--)
		buf_addc(&text, (i - 1) % 2 ? '}' : ']');
	owned(jsonread_freep) struct jsonread *value = parse(text.data);
	assert_int_equal(jsonread_count(value), 1);

	owned(buf_release) struct buf deeper = BUF_INIT;
	buf_addf(&deeper, "[%s]", text.data);
	assert_int_equal(refusal((struct str){ deeper.data, deeper.len }), ERR_LIMIT);
}

static void refuses_a_flood_of_brackets(void **state)
{
	owned(buf_release) struct buf text = BUF_INIT;

	for (int i = 0; i < 100000; i++)
		buf_addc(&text, '[');
	assert_int_equal(refusal((struct str){ text.data, text.len }), ERR_LIMIT);
}

static void reads_a_text_up_to_the_limit(void **state)
{
	owned(buf_release) struct buf text = BUF_INIT;

	buf_addc(&text, '"');
	while (text.len + 6 < JSONREAD_SIZE_MAX)
		buf_adds(&text, "\\udcff");
	while (text.len + 1 < JSONREAD_SIZE_MAX)
		buf_addc(&text, 'x');
	buf_addc(&text, '"');
	owned(jsonread_freep) struct jsonread *value = parse(text.data);
	assert_true(jsonread_str(value).len > JSONREAD_SIZE_MAX / 6 - 10);
	buf_addc(&text, ' ');
	assert_int_equal(refusal((struct str){ text.data, text.len }), ERR_LIMIT);
}

static void writes_a_value_as_it_was_read(void **state)
{
	static const char *const texts[] = {
		"{\"z\":[1,-2.5,\"\\udcff\u00e4\\u0000\"],\"a\":{\"b\":null,\"c\":[]},\"t\":true}"
		"\n",
		"[]\n",
		"\"x\"\n",
		"-0.0\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		owned(jsonread_freep) struct jsonread *value = parse(texts[i]);
		owned(json_release) struct json out = JSON_INIT;

		jsonread_write(&out, NULL, value);
		assert_int_equal(json_end(&out), 0);
		assert_string_equal(out.out.data, texts[i]);
	}
}

static void takes_a_larger_text_where_that_is_allowed(void **state)
{
	size_t len = JSONREAD_SIZE_MAX + 100;
	owned_mem char *text = mem_alloc(len);
	struct err err = { 0 };

	memset(text, 'x', len);
	text[0] = text[len - 1] = '"';
	assert_int_equal(refusal((struct str){ text, len }), ERR_LIMIT);
	owned(jsonread_freep) struct jsonread *value =
		jsonread_new_max((struct str){ text, len }, len, &err);
	assert_non_null(value);
	assert_int_equal(jsonread_str(value).len, len - 2);
	assert_null(jsonread_new_max((struct str){ text, len }, len - 1, &err));
}

/*
 * Write the parts of a text as one line, in the form "key=value;", with "!"  at the end after an
 * error.
 */
static void parts_of(const char *text, struct buf *out)
{
	struct jsonread_parts parts;
	struct str key, value;
	struct err err = { 0 };
	int rc = jsonread_parts_init(&parts, str_of(text), &err);

	while (rc >= 0 && (rc = jsonread_parts_next(&parts, &key, &value, &err)) > 0)
		buf_addf(out, "%.*s=%.*s;", (int)key.len, key.ptr, (int)value.len, value.ptr);
	if (rc < 0) {
		assert_int_equal(rc, -ERR_INVALID);
		assert_true(err.text[0] != '\0');
		buf_addc(out, '!');
	}
	buf_adds(out, "");
}

static void takes_a_text_apart(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "[]", "" },
		{ " { } ", "" },
		{ "[1, -2.5 ,true\n]", "=1;=-2.5;=true;" },
		{ "{\"a\":1,\"b\" : [2, {\"c\": 3}] }", "a=1;b=[2, {\"c\": 3}];" },
		{ "[\"]},\\\"[\", {\"x\": \"}\"}]", "=\"]},\\\"[\";={\"x\": \"}\"};" },
		{ "[[[]], {}]", "=[[]];={};" },
		{ "", "!" },
		{ "7", "!" },
		{ "[", "!" },
		{ "[1", "=1;!" },
		{ "[1,", "=1;!" },
		{ "[1,]", "=1;!" },
		{ "[,]", "!" },
		{ "[1 2]", "=1;!" },
		{ "[1] x", "=1;!" },
		{ "[[1]", "=[1];!" },
		{ "[\"a]", "!" },
		{ "{\"a\"}", "!" },
		{ "{\"a\":}", "!" },
		{ "{a:1}", "!" },
		{ "{\"a\":1]", "a=1;!" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		parts_of(cases[i].text, &out);
		if (strcmp(out.data ?: "", cases[i].want) != 0)
			fail_msg("'%s' gives '%s'", cases[i].text, out.data);
	}
}

static void values_know_their_place(void **state)
{
	const char *text = "\n{ \"a\" : [1,\n  {\"b\":2}],\"c\": 3 }";
	owned(jsonread_freep) struct jsonread *root = parse(text);
	const struct jsonread *list = jsonread_member(root, "a");
	const struct {
		const struct jsonread *value;
		size_t line, column;
	} cases[] = {
		{ root, 1, 1 },
		{ list, 2, 3 },
		{ jsonread_item(list, 0), 2, 10 },
		{ jsonread_item(list, 1), 3, 3 },
		{ jsonread_member(jsonread_item(list, 1), "b"), 3, 4 },
		{ jsonread_member(root, "c"), 3, 12 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct jsonread_place place = jsonread_place(cases[i].value, str_of(text));

		assert_int_equal(place.line, cases[i].line);
		assert_int_equal(place.column, cases[i].column);
	}
}

static void a_repeated_key_is_marked(void **state)
{
	owned(jsonread_freep) struct jsonread *root =
		parse("{\"a\":1,\"b\":2,\"a\":3,\"a\":{\"b\":4}}");

	assert_int_equal(jsonread_count(root), 2);
	assert_false(jsonread_is_repeated(jsonread_member(root, "b")));
	assert_true(jsonread_is_repeated(jsonread_member(root, "a")));
	assert_false(jsonread_is_repeated(jsonread_member(jsonread_member(root, "a"), "b")));
}

static void a_member_is_found_in_the_text(void **state)
{
	const char *text = " {\"a\": [1, {\"x\":2} ] , \"b\\u0022\" :\t1.50, \"c\":\"}\\\"\"}";
	owned(jsonread_freep) struct jsonread *object = parse(text);
	static const char *const values[] = { "[1, {\"x\":2} ]", "1.50", "\"}\\\"\"" };

	for (size_t i = 0; i < COUNT(values); i++)
		assert_true(str_eq(
			jsonread_raw(jsonread_item(object, i), str_of(text)), str_of(values[i])));
}

static void takes_the_nearest_number_where_that_is_allowed(void **state)
{
	struct err err = { 0 };
	owned(jsonread_freep) struct jsonread *list =
		jsonread_new_nearest(STR("[18446744073709551615, -9223372036854775809, 7, 1e999, "
					 "-1e400, 1e-999]"),
			&err);
	char digits[JSONREAD_NEAREST_MAX + 1];

	assert_true(jsonread_int(jsonread_item(list, 0)) == INT64_MAX);
	assert_true(jsonread_int(jsonread_item(list, 1)) == INT64_MIN);
	assert_true(jsonread_int(jsonread_item(list, 2)) == 7);
	memset(digits, '9', sizeof(digits));
	assert_null(jsonread_new_nearest((struct str){ digits, sizeof(digits) }, &err));
	assert_true(jsonread_real(jsonread_item(list, 3)) == DBL_MAX);
	assert_true(jsonread_real(jsonread_item(list, 4)) == -DBL_MAX);
	assert_true(jsonread_real(jsonread_item(list, 5)) == 0);
}

static void reads_lone_surrogates_where_that_is_allowed(void **state)
{
	struct str text =
		STR("{\"\\ud800\":\"\\udc00x\\ud83d\\ude00\\ud83d\",\"\\udc80\\u0000\":2}");
	struct err err = { 0 };
	owned(jsonread_freep) struct jsonread *object = jsonread_new_lenient(text, &err);

	assert_non_null(object);
	assert_true(str_eq(jsonread_key(object, 0), STR("\xed\xa0\x80")));
	assert_true(str_eq(jsonread_str(jsonread_item(object, 0)),
		STR("\xed\xb0\x80x\xf0\x9f\x98\x80\xed\xa0\xbd")));
	assert_true(str_eq(jsonread_key(object, 1), STR("\x80\0")));
	assert_null(jsonread_new_nearest(text, &err));
	assert_null(jsonread_new_lenient(STR("\"\\ud80\""), &err));
	assert_null(jsonread_new_lenient(STR("\"\xed\xa0\x80\""), &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_type),
		cmocka_unit_test(values_know_their_place),
		cmocka_unit_test(a_repeated_key_is_marked),
		cmocka_unit_test(reads_a_value_that_is_no_container),
		cmocka_unit_test(tells_absent_null_and_wrong_type_apart),
		cmocka_unit_test(finds_no_member_in_what_is_no_object),
		cmocka_unit_test(takes_the_last_of_a_key_given_twice),
		cmocka_unit_test(takes_an_object_of_many_keys),
		cmocka_unit_test(gives_strings_as_raw_bytes),
		cmocka_unit_test(reads_back_what_the_writer_quotes),
		cmocka_unit_test(refuses_what_is_not_json),
		cmocka_unit_test(says_where_it_stopped),
		cmocka_unit_test(nests_to_the_limit_and_no_further),
		cmocka_unit_test(refuses_a_flood_of_brackets),
		cmocka_unit_test(reads_a_text_up_to_the_limit),
		cmocka_unit_test(writes_a_value_as_it_was_read),
		cmocka_unit_test(takes_a_larger_text_where_that_is_allowed),
		cmocka_unit_test(takes_a_text_apart),
		cmocka_unit_test(a_member_is_found_in_the_text),
		cmocka_unit_test(takes_the_nearest_number_where_that_is_allowed),
		cmocka_unit_test(reads_lone_surrogates_where_that_is_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
