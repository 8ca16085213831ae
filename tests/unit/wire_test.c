/*
 * wire: the bytes of serde_json for every kind, in both directions, and texts that are no requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "worker/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_same(const struct buf *out, const char *text)
{
	assert_string_equal(out->data, text);
	assert_int_equal(out->len, strlen(text));
}

/* Requests as serde_json writes the original types, and requests with later members. */
static const char *const requests[] = {
	"{\"kind\":\"ping\"}",
	"{\"kind\":\"shutdown\"}",
	"{\"kind\":\"read\",\"path\":\"/a\",\"max_bytes\":1024}",
	"{\"kind\":\"read\",\"path\":\"/a\",\"max_bytes\":null}",
	"{\"kind\":\"write\",\"path\":\"/a\",\"content\":[0,1,9,10,99,100,255]}",
	"{\"kind\":\"write\",\"path\":\"/a\",\"content\":[]}",
	"{\"kind\":\"edit\",\"path\":\"/work/src/main.rs\",\"old_string\":\"let x = 1;\\nlet y = "
	"2;\","
	"\"new_string\":\"let x = 42;\"}",
	"{\"kind\":\"glob\",\"pattern\":\"**/*.rs\",\"root\":\"/w\"}",
	"{\"kind\":\"grep\",\"pattern\":\"a\\\\b\",\"root\":\"/w\",\"include\":null}",
	"{\"kind\":\"grep\",\"pattern\":\"x\",\"root\":\"/w\",\"include\":\"*.rs\"}",
	"{\"kind\":\"stat\",\"path\":\"/a\"}",
	"{\"kind\":\"get_env\",\"names\":[\"HOME\",\"\"]}",
	"{\"kind\":\"get_env\",\"names\":[]}",
	"{\"kind\":\"stat\",\"path\":\"/\\b\\t\\n\\f\\r\\u0001\\u001f\\\"\\\\/"
	"\x7f\xc2\x80\u00e9\u20ac\U0001f600\"}",
	"{\"kind\":\"stat\",\"path\":\"/\\udcff\\udc80\"}",
	"{\"kind\":\"read\",\"path\":\"/"
	"a\",\"max_bytes\":null,\"offset\":7,\"encoding\":\"base64\"}",
	"{\"kind\":\"write\",\"path\":\"/a\",\"content\":\"AAH/\",\"encoding\":\"base64\"}",
	"{\"kind\":\"write\",\"path\":\"/a\",\"content\":\"\u00e4\",\"encoding\":\"utf8\"}",
	"{\"kind\":\"edit\",\"path\":\"/"
	"a\",\"old_string\":\"\",\"new_string\":\"\",\"replace_all\":true}",
	"{\"kind\":\"glob\",\"pattern\":\"*\",\"root\":\"/w\",\"no_ignore\":true}",
	"{\"kind\":\"grep\",\"pattern\":\"x\",\"root\":\"/w\",\"include\":null,\"max_matches\":3}",
	"{\"kind\":\"ping\",\"id\":7}",
	"{\"kind\":\"ping\",\"id\":-7}",
	"{\"kind\":\"cancel\",\"id\":\"a\\\"b\"}",
};

static const char *const replies[] = {
	"{\"kind\":\"pong\"}",
	"{\"kind\":\"read\",\"content\":[1,2]}",
	"{\"kind\":\"read\",\"content\":[]}",
	"{\"kind\":\"write\",\"bytes_written\":5}",
	"{\"kind\":\"edit\",\"replacements\":1}",
	"{\"kind\":\"glob\",\"paths\":[]}",
	"{\"kind\":\"glob\",\"paths\":[\"/w/a.rs\",\"/w/b.rs\"]}",
	"{\"kind\":\"grep\",\"matches\":[{\"path\":\"/w/a\",\"line\":3,\"text\":\"hit\"},"
	"{\"path\":\"/w/b\",\"line\":1,\"text\":\"\"}]}",
	"{\"kind\":\"grep\",\"matches\":[]}",
	"{\"kind\":\"stat\",\"size\":6,\"is_dir\":false,\"is_symlink\":false}",
	"{\"kind\":\"stat\",\"size\":0,\"is_dir\":true,\"is_symlink\":false}",
	"{\"kind\":\"get_env\",\"values\":[\"/root\",null,\"\"]}",
	"{\"kind\":\"error\",\"code\":\"unimplemented\",\"message\":\"m\"}",
	"{\"kind\":\"error\",\"code\":\"policy_denied\",\"message\":\"deny file-write* "
	"/etc/passwd\"}",
	"{\"kind\":\"error\",\"code\":\"io\",\"message\":\"m\"}",
	"{\"kind\":\"error\",\"code\":\"protocol\",\"message\":\"m\"}",
	"{\"kind\":\"error\",\"code\":\"internal\",\"message\":\"m\"}",
	"{\"kind\":\"read\",\"content\":\"AAH/\",\"encoding\":\"base64\",\"truncated\":true}",
	"{\"kind\":\"read\",\"content\":\"\u00e4\\n\",\"encoding\":\"utf8\",\"id\":1}",
	"{\"kind\":\"stat\",\"size\":1,\"is_dir\":false,\"is_symlink\":true,\"mode\":511,\"mtime\":"
	"-5}",
	"{\"kind\":\"error\",\"code\":\"io\",\"message\":\"m\",\"errno\":\"ENOENT\",\"id\":\"x\"}",
	"{\"kind\":\"glob\",\"paths\":[\"/w/\\udce9\"],\"skipped\":2,\"truncated\":true}",
	"{\"kind\":\"grep\",\"matches\":[{\"path\":\"/"
	"a\",\"line\":1,\"text\":\"t\",\"cut\":true}]}",
};

static void requests_keep_their_bytes(void **state)
{
	for (size_t i = 0; i < COUNT(requests); i++) {
		owned(arena_release) struct arena arena = { 0 };
		owned(buf_release) struct buf out = BUF_INIT;
		struct wire_request request;
		enum wire_code fault;
		struct err err = { 0 };

		if (wire_read_request(str_of(requests[i]), &arena, &request, &fault, &err) < 0)
			fail_msg("%s: %s", requests[i], err.text);
		wire_write_request(&out, &request);
		assert_same(&out, requests[i]);
	}
}

static void replies_keep_their_bytes(void **state)
{
	for (size_t i = 0; i < COUNT(replies); i++) {
		owned(arena_release) struct arena arena = { 0 };
		owned(buf_release) struct buf out = BUF_INIT;
		struct wire_reply reply;
		struct err err = { 0 };

		if (wire_read_reply(str_of(replies[i]), &arena, &reply, &err) < 0)
			fail_msg("%s: %s", replies[i], err.text);
		wire_write_reply(&out, &reply);
		assert_same(&out, replies[i]);
	}
}

static void all_bytes_are_numbers(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT, wanted = BUF_INIT;
	char bytes[256];

	buf_adds(&wanted, "{\"kind\":\"read\",\"content\":[");
	for (int i = 0; i < 256; i++) {
		bytes[i] = (char)i;
		buf_addf(&wanted, i ? ",%d" : "%d", i);
	}
	buf_adds(&wanted, "]}");
	struct wire_reply reply = { .kind = WIRE_READ, .content = { bytes, sizeof(bytes) } };
	wire_write_reply(&out, &reply);
	assert_same(&out, wanted.data);
}

static void members_come_in_any_order_and_unknown_ones_are_ignored(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct wire_request request;
	enum wire_code fault;
	struct err err = { 0 };
	const char *text =
		" {\"x\":[{\"content\":3}], \"content\" : [ 1 , 2 ] ,\"path\":\"/a\",\"y\":{},"
		"\"encoding\":null, \"kind\" : \"write\" } ";

	assert_int_equal(wire_read_request(str_of(text), &arena, &request, &fault, &err), 0);
	assert_int_equal(request.kind, WIRE_WRITE);
	assert_int_equal(request.content.len, 2);
	assert_memory_equal(request.content.ptr, "\1\2", 2);
	assert_string_equal(request.path.ptr, "/a");
}

static void tells_bad_members_from_bad_json(void **state)
{
	static const struct {
		const char *text;
		enum wire_code fault; /* WIRE_INTERNAL: the connection ends */
	} cases[] = {
		{ "", WIRE_INTERNAL },
		{ "this is not json", WIRE_INTERNAL },
		{ "[]", WIRE_INTERNAL },
		{ "{}", WIRE_INTERNAL },
		{ "{\"kind\":5}", WIRE_INTERNAL },
		{ "{\"kind\":\"ping\"", WIRE_INTERNAL },
		{ "{\"kind\":\"ping\"} x", WIRE_INTERNAL },
		{ "{\"kind\":\"ping\",\"x\":tru}", WIRE_INTERNAL },
		{ "{\"kind\":\"ping\",\"content\":[}]}", WIRE_INTERNAL },
		{ "{\"kind\":\"write\",\"path\":\"/a\",\"content\":[1,,2]}", WIRE_INTERNAL },
		{ "{\"kind\":\"write\",\"path\":\"/a\",\"content\":[1,]}", WIRE_INTERNAL },
		{ "{\"kind\":\"stat\",\"path\":\"\\ud800\"}", WIRE_INTERNAL },
		{ "{\"kind\":\"fly\"}", WIRE_UNIMPLEMENTED },
		{ "{\"kind\":\"pong\"}", WIRE_UNIMPLEMENTED },
		{ "{\"kind\":\"read\"}", WIRE_PROTOCOL },
		{ "{\"kind\":\"read\",\"path\":3}", WIRE_PROTOCOL },
		{ "{\"kind\":\"read\",\"path\":\"/a\",\"max_bytes\":-1}", WIRE_PROTOCOL },
		{ "{\"kind\":\"read\",\"path\":\"/a\",\"encoding\":\"hex\"}", WIRE_PROTOCOL },
		{ "{\"kind\":\"write\",\"path\":\"/a\"}", WIRE_PROTOCOL },
		{ "{\"kind\":\"write\",\"path\":\"/a\",\"content\":[256]}", WIRE_PROTOCOL },
		{ "{\"kind\":\"write\",\"path\":\"/a\",\"content\":[-1]}", WIRE_PROTOCOL },
		{ "{\"kind\":\"write\",\"path\":\"/a\",\"content\":[1.5]}", WIRE_PROTOCOL },
		{ "{\"kind\":\"write\",\"path\":\"/a\",\"content\":\"x\"}", WIRE_PROTOCOL },
		{ "{\"kind\":\"write\",\"path\":\"/a\",\"content\":\"x\",\"encoding\":\"base64\"}",
			WIRE_PROTOCOL },
		{ "{\"kind\":\"get_env\",\"names\":[null]}", WIRE_PROTOCOL },
		{ "{\"kind\":\"ping\",\"id\":[]}", WIRE_PROTOCOL },
		{ "{\"kind\":\"cancel\"}", WIRE_PROTOCOL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct wire_request request = { 0 };
		enum wire_code fault = WIRE_IO;
		struct err err = { 0 };

		if (wire_read_request(str_of(cases[i].text), &arena, &request, &fault, &err) >= 0)
			fail_msg("accepted: %s", cases[i].text);
		if (fault != cases[i].fault)
			fail_msg("%s: fault %d, '%s'", cases[i].text, (int)fault, err.text);
	}
}

static void deep_nesting_is_refused(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf text = BUF_INIT;
	struct wire_request request;
	enum wire_code fault;
	struct err err = { 0 };

	buf_adds(&text, "{\"kind\":\"ping\",\"x\":");
	for (size_t i = 0; i < 400000; i++)
		buf_addc(&text, '[');
	for (size_t i = 0; i < 400000; i++)
		buf_addc(&text, ']');
	buf_addc(&text, '}');
	assert_int_equal(wire_read_request((struct str){ text.data, text.len }, &arena, &request,
				 &fault, &err),
		-ERR_LIMIT);
	assert_int_equal(fault, WIRE_INTERNAL);
}

static void says_how_much_fits(void **state)
{
	static const char content[] = "a\"\n\1\xff\xc3\xa4\x64";
	struct str whole = { content, sizeof(content) - 1 };

	for (int encoding = WIRE_BYTES; encoding <= WIRE_UTF8; encoding++)
		for (size_t room = 2; room < 60; room++) {
			owned(buf_release) struct buf out = BUF_INIT;
			size_t n = wire_content_fits(whole, (enum wire_encoding)encoding, room);
			struct wire_reply reply = {
				.kind = WIRE_READ,
				.content = { content, n },
				.encoding = (enum wire_encoding)encoding,
			};
			struct wire_reply empty = { .kind = WIRE_READ,
				.encoding = (enum wire_encoding)encoding };
			owned(buf_release) struct buf least = BUF_INIT;

			wire_write_reply(&out, &reply);
			wire_write_reply(&least, &empty);
			assert_true(out.len - least.len + 2 <= room);
			assert_true(room < 50 || n == whole.len);
		}
	assert_int_equal(wire_text_size(whole), 2 + 1 + 2 + 2 + 6 + 6 + 2 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_keep_their_bytes),
		cmocka_unit_test(replies_keep_their_bytes),
		cmocka_unit_test(all_bytes_are_numbers),
		cmocka_unit_test(members_come_in_any_order_and_unknown_ones_are_ignored),
		cmocka_unit_test(tells_bad_members_from_bad_json),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(says_how_much_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
