/* op_read: a JSON object becomes a request, or it is said what is wrong with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/own.h"
#include "ops/op_read.h"

struct request {
	const char *text;
	bool flag;
	int64_t count;
	uint64_t bytes;
	struct op_texts texts;
};

static const struct op_param params[] = {
	{ "text", 0, OP_TEXT, OP_REQUIRED, offsetof(struct request, text) },
	{ "flag", 0, OP_FLAG, 0, offsetof(struct request, flag) },
	{ "count", 0, OP_COUNT, 0, offsetof(struct request, count) },
	{ "bytes", 0, OP_BYTES, 0, offsetof(struct request, bytes) },
	{ "texts", 0, OP_TEXTS, 0, offsetof(struct request, texts) },
	{ NULL, 0, 0, 0, 0 },
};

static const struct op op = { .name = "test", .params = params };

static int read_it(const char *json, struct arena *arena, struct request *request, struct err *err)
{
	owned(jsonread_freep) struct jsonread *given = jsonread_new(str_of(json), err);

	assert_non_null(given);
	*request = (struct request){ 0 };
	return op_read(&op, given, arena, request, err);
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
	/* null is nothing; one text is a list; an object is NAME=VALUE. */
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

		assert_int_equal(read_it(wrong[i][0], &arena, &request, &err), -ERR_USAGE);
		if (!strstr(err.text, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], err.text);
	}
}

int main(void)
{
	const struct CMUnitTest op_read_tests[] = {
		cmocka_unit_test(all_kinds_are_read),
		cmocka_unit_test(what_is_wrong_is_said),
	};

	return cmocka_run_group_tests(op_read_tests, NULL, NULL);
}
