/* socks: requests of version 5, and the answers to all other bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "confine/socks.h"
#include "core/own.h"

#define BYTES(literal)                                                                             \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static const struct {
	struct str bytes;
	enum socks_result result;
	size_t used;
	struct str answer;
} greetings[] = {
	{ BYTES(""), SOCKS_PARTIAL, 0, BYTES("") },
	{ BYTES("\5"), SOCKS_PARTIAL, 0, BYTES("") },
	{ BYTES("\5\2\1"), SOCKS_PARTIAL, 0, BYTES("") },
	{ BYTES("\5\1\0"), SOCKS_WHOLE, 3, BYTES("\5\0") },
	{ BYTES("\5\2\2\0\5\1"), SOCKS_WHOLE, 4, BYTES("\5\0") },
	{ BYTES("\5\1\2"), SOCKS_BAD, 0, BYTES("\5\xff") },
	{ BYTES("\5\0"), SOCKS_BAD, 0, BYTES("\5\xff") },
	{ BYTES("\4\1\0\x50\1\2\3\4\0"), SOCKS_BAD, 0, BYTES("\0\x5b\0\0\0\0\0\0") },
	{ BYTES("GET / HTTP/1.1\r\n"), SOCKS_BAD, 0, BYTES("") },
};

static void answers_greetings(void **state)
{
	for (size_t i = 0; i < sizeof(greetings) / sizeof(greetings[0]); i++) {
		owned(buf_release) struct buf out = BUF_INIT;
		size_t used = 0;

		if (socks_greet(greetings[i].bytes, &used, &out) != greetings[i].result)
			fail_msg("greeting %zu", i);
		if (greetings[i].result == SOCKS_WHOLE)
			assert_int_equal(used, greetings[i].used);
		assert_int_equal(out.len, greetings[i].answer.len);
		if (out.len)
			assert_memory_equal(out.data, greetings[i].answer.ptr, out.len);
	}
}

static const struct {
	struct str bytes;
	enum socks_result result;
	int reply; /* the reply to a bad request */
	const char *host;
	uint16_t port;
} requests[] = {
	{ BYTES("\5\1\0\1\1\2\3\4\1\xbb"), SOCKS_WHOLE, 0, "1.2.3.4", 443 },
	{ BYTES("\5\1\0\3\5A.org\0\x50"), SOCKS_WHOLE, 0, "a.org", 80 },
	{ BYTES("\5\1\0\3\7"
		"1.2.3.4\0\x50"),
		SOCKS_WHOLE, 0, "1.2.3.4", 80 },
	{ BYTES("\5\1\0\4\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1\0\x50"), SOCKS_WHOLE, 0,
		"2001:db8::1", 80 },
	{ BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\x50"), SOCKS_WHOLE, 0,
		"127.0.0.1", 80 },
	{ BYTES("\5\1\0\1\1\2\3\4\0\0"), SOCKS_BAD, SOCKS_DENIED, NULL, 0 },
	{ BYTES("\5\1\0\3\0\0\x50"), SOCKS_BAD, SOCKS_DENIED, NULL, 0 },
	{ BYTES("\5\1\0\3\6a\0.org\0\x50"), SOCKS_BAD, SOCKS_DENIED, NULL, 0 },
	{ BYTES("\5\1\0\3\7a.org\r\n\0\x50"), SOCKS_BAD, SOCKS_DENIED, NULL, 0 },
	{ BYTES("\5\1\0\3\5"
		"a org\0\x50"),
		SOCKS_BAD, SOCKS_DENIED, NULL, 0 },
	{ BYTES("\5\1\0\3\5"
		"127.1\0\x50"),
		SOCKS_BAD, SOCKS_DENIED, NULL, 0 },
	{ BYTES("\5\1\0\3\5[::1]\0\x50"), SOCKS_BAD, SOCKS_DENIED, NULL, 0 },
	{ BYTES("\5\2\0\1\1\2\3\4\0\x50"), SOCKS_BAD, SOCKS_NO_COMMAND, NULL, 0 },
	{ BYTES("\5\3\0\1\1\2\3\4\0\x50"), SOCKS_BAD, SOCKS_NO_COMMAND, NULL, 0 },
	{ BYTES("\5\1\0\2\1\2\3\4\0\x50"), SOCKS_BAD, SOCKS_NO_ADDRESS, NULL, 0 },
	{ BYTES("\5\1\1\1\1\2\3\4\0\x50"), SOCKS_BAD, SOCKS_FAILED, NULL, 0 },
	{ BYTES("\4\1\0\1\1\2\3\4\0\x50"), SOCKS_BAD, SOCKS_FAILED, NULL, 0 },
};

static void reads_requests(void **state)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		owned(buf_release) struct buf out = BUF_INIT;
		struct hostname host;
		size_t used = 0;

		if (socks_request(requests[i].bytes, &used, &host, &out) != requests[i].result)
			fail_msg("request %zu", i);
		if (requests[i].result == SOCKS_BAD) {
			assert_int_equal(out.len, 10);
			assert_int_equal(out.data[1], requests[i].reply);
			continue;
		}
		assert_int_equal(used, requests[i].bytes.len);
		assert_string_equal(host.text, requests[i].host);
		assert_int_equal(host.port, requests[i].port);
		for (size_t n = 0; n < requests[i].bytes.len; n++)
			assert_int_equal(socks_request((struct str){ requests[i].bytes.ptr, n },
						 &used, &host, &out),
				SOCKS_PARTIAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_greetings),
		cmocka_unit_test(reads_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
