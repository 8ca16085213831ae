/*
 * httpconnect: the host that a program requests from the proxy, and the request that this host
 * gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "confine/httpconnect.h"
#include "core/own.h"

static void read_request(const char *line, const char *headers, struct httphead_request *out)
{
	static char text[1024];

	snprintf(text, sizeof(text), "%s HTTP/1.1\r\n%s\r\n", line, headers);
	assert_int_equal(httphead_read(str_of(text), out), HTTPHEAD_WHOLE);
}

static const struct {
	const char *line;
	const char *host; /* NULL: the request is refused */
	uint16_t port;
} targets[] = {
	{ "CONNECT a.org:443", "a.org", 443 },
	{ "CONNECT [2001:db8::1]:443", "2001:db8::1", 443 },
	{ "GET http://a.org/x", "a.org", 80 },
	{ "GET HTTP://A.org:8080", "a.org", 8080 },
	{ "GET http://a.org?x@y", "a.org", 80 },
	{ "GET http://a.org#@b.org/", "a.org", 80 },
	{ "GET http://[::1]:8080/", "::1", 8080 },
	{ "CONNECT a.org", NULL, 0 },
	{ "CONNECT a.org:", NULL, 0 },
	{ "CONNECT a.org:443/", NULL, 0 },
	{ "CONNECT http://a.org:443", NULL, 0 },
	{ "CONNECT b.org@a.org:443", NULL, 0 },
	{ "CONNECT a.org\\.b.org:443", NULL, 0 },
	{ "CONNECT a%2eorg:443", NULL, 0 },
	{ "CONNECT ::1:443", NULL, 0 },
	{ "CONNECT 2130706433:443", NULL, 0 },
	{ "CONNECT *:443", NULL, 0 },
	{ "GET /", NULL, 0 },
	{ "GET *", NULL, 0 },
	{ "GET a.org:80", NULL, 0 },
	{ "GET https://a.org/", NULL, 0 },
	{ "GET ftp://a.org/", NULL, 0 },
	{ "GET http:///x", NULL, 0 },
	{ "GET http://a.org@b.org/", NULL, 0 },
	{ "GET http://user:x@a.org/", NULL, 0 },
	{ "GET http://a.org:0/", NULL, 0 },
	{ "GET http://a.org\\@b.org/", NULL, 0 },
};

static void finds_the_host(void **state)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct httphead_request request;
		struct hostname host;
		const char *wrong = NULL;

		read_request(targets[i].line, "Host: x\r\n", &request);
		if (httpconnect_target(&request, &host, &wrong) != (targets[i].host != NULL))
			fail_msg("%s", targets[i].line);
		if (!targets[i].host) {
			assert_non_null(wrong);
			continue;
		}
		assert_string_equal(host.text, targets[i].host);
		assert_int_equal(host.port, targets[i].port);
	}
}

static const struct {
	const char *line, *headers, *expected;
} rewritten[] = {
	{ "GET http://a.org/x?y", "Host: b.org\r\nA: b\r\n",
		"GET /x?y HTTP/1.1\r\nHost: a.org\r\nA: b\r\nConnection: close\r\n\r\n" },
	{ "OPTIONS http://A.org:8080", "Host: a.org\r\nConnection: keep-alive\r\n",
		"OPTIONS / HTTP/1.1\r\nHost: a.org:8080\r\nConnection: close\r\n\r\n" },
	{ "GET http://a.org?q", "Host: a.org\r\nProxy-Authorization: x\r\nUPGRADE: h2c\r\n",
		"GET /?q HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\n\r\n" },
	{ "GET http://[::1]/", "Host: a.org\r\nTE: trailers\r\nproxy-connection: x\r\n",
		"GET / HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n" },
};

static void rewrites_requests(void **state)
{
	for (size_t i = 0; i < sizeof(rewritten) / sizeof(rewritten[0]); i++) {
		owned(buf_release) struct buf out = BUF_INIT;
		struct httphead_request request;
		struct hostname host;
		const char *wrong;

		read_request(rewritten[i].line, rewritten[i].headers, &request);
		assert_true(httpconnect_target(&request, &host, &wrong));
		httpconnect_rewrite(&out, &request, &host);
		assert_string_equal(out.data, rewritten[i].expected);
	}
}

static const struct {
	const char *line, *headers;
	const char *host; /* NULL: the request names no host, or two */
	uint16_t port;
} named[] = {
	{ "GET /", "Host: A.org\r\n", "a.org", 80 },
	{ "GET /", "Host: a.org:8080\r\n", "a.org", 8080 },
	{ "OPTIONS *", "Host: a.org\r\n", "a.org", 80 },
	{ "GET http://a.org/", "Host: a.org:80\r\n", "a.org", 80 },
	{ "GET http://b.org/", "Host: a.org\r\n", NULL, 0 },
	{ "GET http://a.org:81/", "Host: a.org\r\n", NULL, 0 },
	{ "GET https://a.org/", "Host: a.org\r\n", NULL, 0 },
	{ "CONNECT a.org:80", "Host: a.org\r\n", NULL, 0 },
	{ "GET /", "Host:\r\n", NULL, 0 },
	{ "GET /", "Host: a.org, b.org\r\n", NULL, 0 },
	{ "GET /", "Host: x@a.org\r\n", NULL, 0 },
};

static void finds_the_name_told_to_a_server(void **state)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		struct httphead_request request;
		struct hostname host;

		read_request(named[i].line, named[i].headers, &request);
		if (httpconnect_named(&request, 80, &host) != (named[i].host != NULL))
			fail_msg("%s %s", named[i].line, named[i].headers);
		if (!named[i].host)
			continue;
		assert_string_equal(host.text, named[i].host);
		assert_int_equal(host.port, named[i].port);
	}
}

static void explains_refusals(void **state)
{
	const struct verdict verdict = { .rule = "the rule", .remedy = "the remedy" };
	owned(buf_release) struct buf out = BUF_INIT;

	httpconnect_refuse(&out, 403, "no", &verdict);
	assert_string_equal(out.data,
		"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
		"Content-Length: 45\r\nConnection: close\r\n\r\n"
		"strata: no\nrule: the rule\nremedy: the remedy\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_host),
		cmocka_unit_test(rewrites_requests),
		cmocka_unit_test(finds_the_name_told_to_a_server),
		cmocka_unit_test(explains_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
