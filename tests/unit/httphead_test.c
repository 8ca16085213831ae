/*
 * httphead: accepts only heads that all programs read in the same way, and finds the ends of
 * bodies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "confine/httphead.h"
#include "core/buf.h"
#include "core/own.h"

#define BYTES(literal)                                                                             \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static void reads_a_head(void **state)
{
	static const char text[] = "POST /a HTTP/1.1\r\nHost:  a.org \r\nX-Empty:\r\n"
				   "content-length: 12\r\n\r\nbody";
	struct httphead_request request;
	struct str line, name, value;

	for (size_t n = 1; n + 4 < sizeof(text) - 1; n++)
		assert_int_equal(
			httphead_read((struct str){ text, n }, &request), HTTPHEAD_PARTIAL);
	assert_int_equal(httphead_read(str_of(text), &request), HTTPHEAD_WHOLE);
	assert_int_equal(request.size, sizeof(text) - 5);
	assert_true(str_eq(request.method, STR("POST")));
	assert_true(str_eq(request.target, STR("/a")));
	assert_true(str_eq(request.version, STR("HTTP/1.1")));
	assert_true(str_eq(request.host, STR("a.org")));
	assert_int_equal(request.length, 12);
	assert_false(request.chunked || request.upgrade);
	assert_true(httphead_next(&request.headers, &line, &name, &value));
	assert_true(str_eq(line, STR("Host:  a.org \r\n")) && httphead_is(name, "host"));
	assert_true(httphead_next(&request.headers, &line, &name, &value));
	assert_true(str_eq(name, STR("X-Empty")) && !value.len);
	assert_true(httphead_next(&request.headers, &line, &name, &value));
	assert_false(httphead_next(&request.headers, &line, &name, &value));
}

#define HOST "Host: a\r\n"

static const struct str bad[] = {
	BYTES(" GET / HTTP/1.1\r\n" HOST "\r\n"),
	BYTES("\r\nGET / HTTP/1.1\r\n" HOST "\r\n"),
	BYTES("GET  / HTTP/1.1\r\n" HOST "\r\n"),
	BYTES("GET / HTTP/1.1 \r\n" HOST "\r\n"),
	BYTES("GET /\r\n" HOST "\r\n"),
	BYTES("GET\r\n" HOST "\r\n"),
	BYTES("GET / HTTP/2.0\r\n" HOST "\r\n"),
	BYTES("GET / http/1.1\r\n" HOST "\r\n"),
	BYTES("G,T / HTTP/1.1\r\n" HOST "\r\n"),
	BYTES("GET /\x01 HTTP/1.1\r\n" HOST "\r\n"),
	BYTES("GET /\xff HTTP/1.1\r\n" HOST "\r\n"),
	BYTES("GET / HTTP/1.1\n" HOST "\r\n"),
	BYTES("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST HOST "\r\n"),
	BYTES("GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\nHost\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n: a\r\n" HOST "\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "X: a\r\n folded\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "Content-Length: 9999999999999999999\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	BYTES("GET / HTTP/1.1\r\n" HOST
	      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
};

static void refuses_what_programs_read_differently(void **state)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct httphead_request request;

		if (httphead_read(bad[i], &request) != HTTPHEAD_BAD)
			fail_msg("head %zu", i);
		assert_non_null(request.wrong);
	}
}

static void needs_no_host_in_old_requests(void **state)
{
	struct httphead_request request;

	assert_int_equal(httphead_read(STR("GET / HTTP/1.0\r\n\r\n"), &request), HTTPHEAD_WHOLE);
	assert_null(request.host.ptr);
}

static void refuses_long_heads(void **state)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct httphead_request request;

	buf_adds(&text, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
	while (text.len < HTTPHEAD_MAX - 1)
		buf_addc(&text, 'x');
	assert_int_equal(
		httphead_read((struct str){ text.data, text.len }, &request), HTTPHEAD_PARTIAL);
	buf_addc(&text, 'x');
	assert_int_equal(
		httphead_read((struct str){ text.data, text.len }, &request), HTTPHEAD_BAD);
}

/* Each case has the bytes after a head, and the number of those that belong to the body. */
static const struct {
	const char *head;
	struct str rest;
	size_t body;
	bool done, bad;
} bodies[] = {
	{ "", BYTES("GET"), 0, true, false },
	{ "Content-Length: 0\r\n", BYTES("GET"), 0, true, false },
	{ "Content-Length: 3\r\n", BYTES("abcGET"), 3, true, false },
	{ "Content-Length: 3\r\n", BYTES("ab"), 2, false, false },
	{ "Upgrade: x\r\n", BYTES("anything"), 8, false, false },
	{ "Transfer-Encoding: chunked\r\n", BYTES("0\r\n\r\nGET"), 5, true, false },
	{ "Transfer-Encoding: chunked\r\n", BYTES("a;x=y\r\n0123456789\r\n0\r\n\r\nGET"), 24, true,
		false },
	{ "Transfer-Encoding: chunked\r\n", BYTES("3\r\nabc\r\n1B\r\nabc"), 15, false, false },
	{ "Transfer-Encoding: chunked\r\n", BYTES("0\r\nTrailer: x\r\nB: y\r\n\r\nGET"), 23, true,
		false },
	{ "Transfer-Encoding: chunked\r\n", BYTES("\r\n"), 1, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("x\r\n"), 1, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("-1\r\n"), 1, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("3\nabc"), 2, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("3;\nabc"), 3, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("3\r\nabcd\r\n"), 7, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("3\r\nabc\rX"), 8, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("1111111111111111\r\n"), 16, false, true },
	{ "Transfer-Encoding: chunked\r\n", BYTES("0\r\n\nGET"), 4, false, true },
};

static void finds_the_end_of_a_body(void **state)
{
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		char head[256];
		struct httphead_request request;
		struct httphead_body body, bytewise;

		snprintf(
			head, sizeof(head), "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n", bodies[i].head);
		assert_int_equal(httphead_read(str_of(head), &request), HTTPHEAD_WHOLE);
		httphead_body_start(&request, &body);
		bytewise = body;
		const size_t n = body.done ? 0 : httphead_body_take(&body, bodies[i].rest);
		if (n != bodies[i].body || body.done != bodies[i].done || body.bad != bodies[i].bad)
			fail_msg("body %zu: %zu bytes", i, n);

		size_t at = 0;
		while (at < bodies[i].rest.len && !bytewise.done && !bytewise.bad)
			at += httphead_body_take(
				&bytewise, (struct str){ bodies[i].rest.ptr + at, 1 });
		assert_int_equal(at, bodies[i].body);
		assert_int_equal(bytewise.done, bodies[i].done);
	}
}

static void refuses_endless_frames(void **state)
{
	struct httphead_request request;
	struct httphead_body body;
	size_t n = 0;

	assert_int_equal(httphead_read(STR("POST / HTTP/1.1\r\nHost: a\r\n"
					   "Transfer-Encoding: chunked\r\n\r\n"),
				 &request),
		HTTPHEAD_WHOLE);
	httphead_body_start(&request, &body);
	(void)httphead_body_take(&body, STR("1;"));
	while (n < 1000000 && !body.bad)
		n += httphead_body_take(&body, STR("xxxxxxxxxx"));
	assert_true(body.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_head),
		cmocka_unit_test(refuses_what_programs_read_differently),
		cmocka_unit_test(needs_no_host_in_old_requests),
		cmocka_unit_test(refuses_long_heads),
		cmocka_unit_test(finds_the_end_of_a_body),
		cmocka_unit_test(refuses_endless_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
