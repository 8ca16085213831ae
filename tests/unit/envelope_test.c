/* envelope: each mistake in a request has its code, and an id is repeated as it was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "rpc/envelope.h"

static void assert_code(const char *line, enum rpc_code code, const char *id, bool answered)
{
	owned(envelope_release) struct envelope envelope = ENVELOPE_INIT;
	struct err err = { 0 };

	assert_int_equal(envelope_read(str_of(line), &envelope, &err), code);
	assert_string_equal(envelope.id.data, id);
	assert_int_equal(envelope.answered, answered);
	assert_int_equal(err.text[0] != '\0', code != RPC_NONE);
}

static void each_rule_has_its_code(void **state)
{
	static const struct {
		const char *line;
		enum rpc_code code;
		const char *id;
		bool answered;
	} cases[] = {
		{ "{\"id\":1,\"method\":\"m\"}", RPC_NONE, "1", true },
		{ "{\"id\":1,\"method\":\"m\"}\r", RPC_NONE, "1", true },
		{ "{\"method\":\"m\"}", RPC_NONE, "null", false },
		{ "{\"id\":1,\"method\":\"m\",\"params\":{}}", RPC_NONE, "1", true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":null}", RPC_PARAMS, "1", true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":[]}", RPC_PARAMS, "1", true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":3}", RPC_PARAMS, "1", true },
		{ "{\"method\":\"m\",\"params\":[]}", RPC_PARAMS, "null", false },
		{ "{\"id\":1}", RPC_INVALID, "1", true },
		{ "{\"id\":1,\"method\":null}", RPC_INVALID, "1", true },
		{ "{\"id\":1,\"method\":5}", RPC_INVALID, "1", true },
		{ "{\"method\":5}", RPC_INVALID, "null", true },
		{ "{}", RPC_INVALID, "null", true },
		{ "[]", RPC_INVALID, "null", true },
		{ "[{\"id\":1,\"method\":\"m\"}]", RPC_INVALID, "null", true },
		{ "\"m\"", RPC_INVALID, "null", true },
		{ "17", RPC_INVALID, "null", true },
		{ "null", RPC_INVALID, "null", true },
		{ "{", RPC_PARSE, "null", true },
		{ "nonsense", RPC_PARSE, "null", true },
		{ "{\"id\":1,\"method\":\"m\"} {}", RPC_PARSE, "null", true },
		{ "{\"id\":1,\"method\":\"m\",}", RPC_PARSE, "null", true },
		{ "{\"id\":1,\"method\":\"\xff\"}", RPC_PARSE, "null", true },
		{ "{\"id\":\"\\ud800\",\"method\":\"m\"}", RPC_NONE, "\"\\ud800\"", true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":[\"\\ud800\"]}", RPC_PARAMS, "1", true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":{\"\\udfff\":1e400}}", RPC_NONE, "1",
			true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_code(cases[i].line, cases[i].code, cases[i].id, cases[i].answered);
}

static void an_id_of_any_type_is_repeated_as_given(void **state)
{
	static const char *const ids[] = { "0", "-1", "1.50", "1e2", "null", "true", "\"\"",
		"\"a\\u0041\\n\"", "\"\\udc80\"", "\"\xc3\xa4 b\"", "18446744073709551615", "[]",
		"{\"a\":[1,\"x y\"]}" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		owned(buf_release) struct buf line = BUF_INIT;
		owned(json_release) struct json reply = JSON_INIT;

		buf_addf(&line, "{ \"\\u0069d\" : %s , \"method\":\"m\"}", ids[i]);
		assert_code(line.data, RPC_NONE, ids[i], true);
		envelope_begin(&reply, str_of(ids[i]));
		json_int(&reply, "n", 1);
		assert_int_equal(envelope_end(&reply), 0);
		buf_clear(&line);
		buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"n\":1}}\n", ids[i]);
		assert_string_equal(reply.out.data, line.data);
	}
	assert_code("{\"id\":[ 1,\r {\"a b\" : \" \\\" \"}],\"method\":\"m\"}", RPC_NONE,
		"[1,{\"a b\":\" \\\" \"}]", true);
	assert_code("{\"id\":1,\"method\":\"m\",\"id\":2}", RPC_NONE, "2", true);
}

static void parameters_stay_a_text(void **state)
{
	owned(envelope_release) struct envelope envelope = ENVELOPE_INIT;
	struct err err = { 0 };

	assert_int_equal(
		envelope_read(STR("{\"params\" :\t{ \"a\": \"}\" } ,\"method\":\"m\\u0000n\"}"),
			&envelope, &err),
		RPC_NONE);
	assert_true(str_eq(envelope.params, STR("{ \"a\": \"}\" }")));
	assert_true(str_eq(envelope.method, STR("m\0n")));
}

/* Read a request that has this value as id. */
static void assert_id(const char *value, enum rpc_code code)
{
	owned(buf_release) struct buf line = BUF_INIT;

	buf_addf(&line, "{\"method\":\"m\",\"id\":%s}", value);
	assert_code(line.data, code, code == RPC_NONE ? value : "null", true);
}

static void nesting_and_numbers_have_limits(void **state)
{
	char deep[2 * 64 + 1] = { 0 }, digits[5001] = { 0 };

	/* The request itself is one more level. */
	memset(deep, '[', 63);
	memset(deep + 63, ']', 63);
	assert_id(deep, RPC_NONE);
	memset(deep, '[', 64);
	memset(deep + 64, ']', 64);
	assert_id(deep, RPC_PARSE);
	memset(digits, '9', 64);
	assert_id(digits, RPC_NONE);
	memset(digits, '9', 5000);
	assert_id(digits, RPC_PARSE);
}

static void an_error_has_data_only_if_there_is_some(void **state)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	err_set(&err, ERR_NOT_FOUND, "no 'x'");
	envelope_refuse(&out, STR("7"), RPC_QUERY_NO_PATH, &err, STR(""));
	err_hint(&err, "look");
	envelope_refuse(&out, STR("7"), RPC_QUERY_FAILED, &err, STR("\"stderr\":\"s\""));
	assert_string_equal(out.out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32002,\"message\":\"no "
		"'x'\"}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32001,\"message\":\"no 'x'\","
		"\"data\":{\"stderr\":\"s\",\"hint\":\"look\"}}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_has_its_code),
		cmocka_unit_test(an_id_of_any_type_is_repeated_as_given),
		cmocka_unit_test(parameters_stay_a_text),
		cmocka_unit_test(nesting_and_numbers_have_limits),
		cmocka_unit_test(an_error_has_data_only_if_there_is_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
