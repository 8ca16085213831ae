/* param: JSON, pairs and words become a request, and mistakes in them are reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/param_argv.h"

struct request {
	const char *text;
	bool flag;
	int64_t count;
	uint64_t bytes;
	struct param_texts texts;
};

static const struct param params[] = {
	PARAM(request, text, TEXT, PARAM_REQUIRED, "help"),
	PARAM(request, flag, FLAG, 0, "help"),
	PARAM(request, count, COUNT, 0, "help"),
	PARAM(request, bytes, BYTES, 0, "help"),
	PARAM(request, texts, TEXTS, 0, "help"),
	{ 0 },
};

static int read_it(const char *json, struct arena *arena, struct request *request, struct err *err)
{
	owned(jsonread_freep) struct jsonread *given = jsonread_new(str_of(json), err);

	assert_non_null(given);
	*request = (struct request){ 0 };
	struct param_reader reader = {
		.name = "test",
		.params = params,
		.arena = arena,
		.request = request,
	};
	return param_read(&reader, given, err);
}

static void all_kinds_are_read(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct request request;
	struct err err = { 0 };

	assert_int_equal(read_it("{\"text\":\"a\",\"flag\":true,\"count\":7,\"bytes\":\"2K\","
				 "\"texts\":[\"x\",\"y\"]}",
				 &arena, &request, &err),
		0);
	assert_string_equal(request.text, "a");
	assert_true(request.flag);
	assert_int_equal(request.count, 7);
	assert_int_equal(request.bytes, 2048);
	assert_int_equal(request.texts.count, 2);
	assert_string_equal(request.texts.list[1], "y");
	/*
	 * null counts as not given, one text becomes a list, and the members of an object become
	 * NAME=VALUE.
	 */
	assert_int_equal(read_it("{\"text\":\"a\",\"count\":null,\"bytes\":5,\"texts\":\"one\"}",
				 &arena, &request, &err),
		0);
	assert_int_equal(request.count, 0);
	assert_int_equal(request.bytes, 5);
	assert_string_equal(request.texts.list[0], "one");
	assert_int_equal(
		read_it("{\"text\":\"a\",\"texts\":{\"K\":\"v w\"}}", &arena, &request, &err), 0);
	assert_string_equal(request.texts.list[0], "K=v w");
}

static void what_is_wrong_is_said(void **state)
{
	static const char *const wrong[][2] = {
		{ "{}", "'text' is missing" },
		{ "{\"text\":null}", "'text' is missing" },
		{ "{\"text\":1}", "'text' must be a string" },
		{ "{\"text\":\"a\\u0000b\"}", "'text' must be a string without NUL" },
		{ "{\"text\":\"a\",\"flag\":1}", "'flag' must be true or false" },
		{ "{\"text\":\"a\",\"count\":0}", "'count' must be a positive number" },
		{ "{\"text\":\"a\",\"count\":1.5}", "'count' must be a positive number" },
		{ "{\"text\":\"a\",\"bytes\":\"many\"}", "'bytes' must be a size" },
		{ "{\"text\":\"a\",\"texts\":[1]}", "'texts' must be a list of strings" },
		{ "{\"text\":\"a\",\"texts\":7}", "'texts' must be a list of strings" },
		{ "{\"text\":\"a\",\"other\":7}", "has no parameter 'other'" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct request request;
		struct err err = { 0 };

		assert_true(read_it(wrong[i][0], &arena, &request, &err) < 0);
		assert_true(err.code == ERR_INVALID || err.code == ERR_USAGE);
		if (!strstr(err.text, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], err.text);
	}
}

/*
 * A request is read back in full, with bytes that are not UTF-8, an empty text, a list and numbers.
 */
static void a_request_that_is_written_is_read_back(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(json_release) struct json out = JSON_INIT;
	const char *list[] = { "a\xff", "", "[1]" };
	struct request before = { "t\x80", true, 3, UINT64_C(1) << 40, { list, 3 } }, after;
	struct err err = { 0 };

	param_write(&out, NULL, params, &before);
	assert_int_equal(read_it(out.out.data, &arena, &after, &err), 0);
	assert_string_equal(after.text, before.text);
	assert_true(after.flag);
	assert_int_equal(after.count, 3);
	assert_int_equal(after.bytes, before.bytes);
	assert_int_equal(after.texts.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(after.texts.list[i], list[i]);
}

static void pairs_become_json(void **state)
{
	static const struct {
		const char *pairs[3], *json;
	} cases[] = {
		{ { "text=12", "count=12" }, "{\"text\":\"12\",\"count\":12}" },
		{ { "texts=a", "flag=true", "texts=b=c" },
			"{\"texts\":[\"a\",\"b=c\"],\"flag\":true}" },
		{ { "texts=[\"x\"]" }, "{\"texts\":[\"x\"]}" },
		{ { "text=a", "text=b" }, NULL },
		{ { "text" }, NULL },
		{ { "=x" }, NULL },
		{ { "other=x" }, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		owned(arena_release) struct arena arena = { 0 };
		owned(json_release) struct json out = JSON_INIT;
		struct param_texts pairs = { 0 };
		struct err err = { 0 };

		for (size_t n = 0; n < 3 && cases[i].pairs[n]; n++)
			param_texts_add(&pairs, &arena, cases[i].pairs[n]);
		json_open(&out, NULL, '{');
		int r = param_add_pairs("test", params, &pairs, &out, &err);
		json_close(&out);
		assert_int_equal(r, cases[i].json ? 0 : -ERR_USAGE);
		if (cases[i].json)
			assert_string_equal(out.out.data, cases[i].json);
	}
}

struct line {
	struct param_texts rest;
	uint64_t limit;
	bool flag, help;
};

static const struct param line_params[] = {
	PARAM(line, flag, FLAG, 0, "help", .letter = 'f'),
	PARAM(line, limit, BYTES, PARAM_FROM_ZERO, "help", .fallback = 7),
	PARAM(line, rest, TEXTS, PARAM_REQUIRED | PARAM_REST, "help"),
	{ 0 },
};

static const struct param help_params[] = {
	PARAM(line, help, FLAG, 0, "help", .letter = 'h'),
	{ 0 },
};

static int read_words(char **argv, struct arena *arena, struct line *line, struct err *err)
{
	struct param_reader own = { .params = line_params, .arena = arena, .request = line };
	struct param_reader face = { .params = help_params, .request = line };
	int argc = 0;

	*line = (struct line){ 0 };
	while (argv[argc])
		argc++;
	return param_argv_read(&own, &face, &line->help, argc, argv, err);
}

static void what_follows_the_first_word_is_not_looked_at(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	char *plain[] = { "test", "-f", "cmd", "-f", "--limit", "--", "x", NULL };
	char *dashes[] = { "test", "--limit=0", "--", "--flag", NULL };
	char *nothing[] = { "test", "-f", NULL }, *asks[] = { "test", "-h", NULL };
	struct err err = { 0 };
	struct line line;

	assert_int_equal(read_words(plain, &arena, &line, &err), 0);
	assert_true(line.flag);
	assert_int_equal(line.limit, 7);
	assert_int_equal(line.rest.count, 5);
	assert_string_equal(line.rest.list[3], "--");
	assert_int_equal(read_words(dashes, &arena, &line, &err), 0);
	assert_false(line.flag);
	assert_int_equal(line.limit, 0);
	assert_string_equal(line.rest.list[0], "--flag");
	assert_int_equal(read_words(nothing, &arena, &line, &err), -ERR_USAGE);
	assert_string_equal(err.text, "test: rest is missing (see 'strata help test')");
	assert_int_equal(read_words(asks, &arena, &line, &err), 0);
	assert_true(line.help);
}

int main(void)
{
	const struct CMUnitTest param_tests[] = {
		cmocka_unit_test(all_kinds_are_read),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(a_request_that_is_written_is_read_back),
		cmocka_unit_test(pairs_become_json),
		cmocka_unit_test(what_follows_the_first_word_is_not_looked_at),
	};

	return cmocka_run_group_tests(param_tests, NULL, NULL);
}
