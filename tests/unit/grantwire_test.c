/*
 * grantwire: requests and answers that were written can be read again, and malformed ones are
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "confine/grantwire.h"
#include "core/own.h"

static void a_request_comes_through(void **state)
{
	static const struct grantwire_request requests[] = {
		{ .path = "/srv/a b", .mode = "write", .pid = 7, .command = "sh" },
		{ .path = "/\xff", .revoke = true },
		{ .host = "*.b:443" },
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		owned(arena_release) struct arena arena = { 0 };
		owned(json_release) struct json first = JSON_INIT, second = JSON_INIT;
		struct grantwire_request read;
		struct err err = { 0 };

		grantwire_write_request(&first, &requests[i]);
		if (grantwire_read_request(json_written(&first), &arena, &read, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(read.revoke, requests[i].revoke);
		assert_int_equal(read.pid, requests[i].pid);
		grantwire_write_request(&second, &read);
		assert_string_equal(json_written(&first).ptr, json_written(&second).ptr);
	}
}

static void odd_requests_are_refused(void **state)
{
	static const struct {
		const char *text;
		enum err_code code;
	} cases[] = {
		{ "", ERR_INVALID },
		{ "[]", ERR_INVALID },
		{ "{}", ERR_USAGE },
		{ "{\"path\":\"/a\",\"host\":\"b\"}", ERR_USAGE },
		{ "{\"path\":\"/a\",\"more\":1}", ERR_USAGE },
		{ "{\"path\":7}", ERR_INVALID },
		{ "{\"path\":\"/a\\u0000b\"}", ERR_INVALID },
		{ "{\"path\":\"a\"}", ERR_INVALID },
		{ "{\"path\":\"/\"}", ERR_INVALID },
		{ "{\"path\":\"/a/\"}", ERR_INVALID },
		{ "{\"path\":\"//a\"}", ERR_INVALID },
		{ "{\"path\":\"/a/../b\"}", ERR_INVALID },
		{ "{\"path\":\"/./b\"}", ERR_INVALID },
		{ "{\"path\":\"/a\",\"mode\":\"execute\"}", ERR_INVALID },
		{ "{\"path\":\"/a\",\"mode\":\"read\",\"revoke\":true}", ERR_USAGE },
		{ "{\"host\":\"a\",\"mode\":\"read\"}", ERR_USAGE },
		{ "{\"path\":\"/a\",\"pid\":0}", ERR_INVALID },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct grantwire_request read;
		struct err err = { 0 };

		if (grantwire_read_request(str_of(cases[i].text), &arena, &read, &err) !=
			-(int)cases[i].code)
			fail_msg("%s: %d %s", cases[i].text, (int)err.code, err.text);
		assert_true(err.text[0]);
	}
}

static void an_answer_comes_through(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(json_release) struct json out = JSON_INIT;
	const char *argv[] = { "sh", "-c", "x" };
	struct grantwire_answer read,
		answer = { .selected = true, .rule = "fs.grantable: /a", .argv = { argv, 3 } };
	struct err err = { 0 };

	err_set(&answer.err, ERR_DENIED, "no");
	err_hint(&answer.err, "do this");
	grantwire_write_answer(&out, &answer);
	assert_int_equal(grantwire_read_answer(json_written(&out), &arena, &read, &err), 0);
	assert_true(read.selected);
	assert_false(read.changed);
	assert_string_equal(read.rule, answer.rule);
	assert_int_equal(read.argv.count, 3);
	assert_string_equal(read.argv.list[2], "x");
	assert_int_equal(read.err.code, ERR_DENIED);
	assert_string_equal(read.err.text, "no");
	assert_string_equal(read.err.hint, "do this");
	assert_int_equal(
		grantwire_read_answer(STR("{\"selected\":1}"), &arena, &read, &err), -ERR_INVALID);
}

/* An answer fits into a message, whatever the length of the command. */
static void a_long_command_is_shortened(void **state)
{
	static char text[100000];
	owned(arena_release) struct arena arena = { 0 };
	owned(json_release) struct json out = JSON_INIT;
	const char *argv[64];
	struct grantwire_answer read, answer = { .argv = { argv, 64 } };
	struct err err = { 0 };

	memset(text, 1, sizeof(text) - 1);
	for (size_t i = 0; i < 64; i++)
		argv[i] = text;
	grantwire_write_answer(&out, &answer);
	assert_true(json_written(&out).len < GRANTWIRE_MAX);
	assert_int_equal(grantwire_read_answer(json_written(&out), &arena, &read, &err), 0);
	assert_true(read.argv.count > 0 && read.argv.count < 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_comes_through),
		cmocka_unit_test(odd_requests_are_refused),
		cmocka_unit_test(an_answer_comes_through),
		cmocka_unit_test(a_long_command_is_shortened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
