/*
 * proxy: connections that the policy allows succeed in every way that a program may try, and all
 * others are explained.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "proxy_fixture.h"
#include "tlshello_fixture.h"
#include "verdict_fixture.h"

#define NOTHING_MS 150

/* The rules of the policy, and a rig with them. */
static const char *rules[] = { "allowed.test", "allowed.test:8080", "*.wild.test", "second.test",
	"half.test", "private.test", "loopback.test", "six.test", "gone.test", "slow.test",
	"93.184.216.34:443", "127.0.0.1:8199", "localhost:8200" };

static struct rig new_rig(void)
{
	struct rig rig;

	skip_without_machine();
	rig_start(&rig, rules, sizeof(rules) / sizeof(rules[0]));
	return rig;
}

/* Wait for the next denial, and compare its subject and its rule. */
static void expect_denial(const struct rig *rig, const char *subject, const char *rule)
{
	char line[4096];

	assert_true(becomes_readable(rig->denials, PATIENCE_MS));
	ssize_t n = read(rig->denials, line, sizeof(line) - 1);
	assert_true(n > 0 && line[n - 1] == '\n');
	line[n] = '\0';
	if (!strstr(line, subject) || !strstr(line, rule))
		fail_msg("'%s' and '%s' are not in %s", subject, rule, line);
}

static void expect_no_denial(const struct rig *rig)
{
	char line[4096];

	if (becomes_readable(rig->denials, NOTHING_MS)) {
		ssize_t n = read(rig->denials, line, sizeof(line) - 1);

		fail_msg("%.*s", (int)(n < 0 ? 0 : n), line);
	}
}

/* ---------------------------------------------------------------------- names */

static size_t make_query(const char *name, unsigned type, char out[300])
{
	size_t at = 12;

	memcpy(out, "\x12\x34\1\0\0\1\0\0\0\0\0\0", 12);
	while (*name) {
		size_t label = strcspn(name, ".");

		out[at++] = (char)label;
		memcpy(out + at, name, label);
		at += label;
		name += label + (name[label] == '.');
	}
	memcpy(out + at, "\0\0\0\0\1", 5);
	out[at + 2] = (char)type;
	return at + 5;
}

/*
 * Query a name.  Returns the code of the answer, and in the second byte the number of its records.
 */
static int ask(const struct rig *rig, const char *name, unsigned type, char address[16])
{
	char query[300], answer[512];
	size_t len = make_query(name, type, query);
	owned_fd int fd = connect_inside(rig->space, SOCK_DGRAM, "8.8.8.8", 53);

	assert_true(fd >= 0);
	assert_int_equal(send(fd, query, len, 0), len);
	ssize_t n = recv(fd, answer, sizeof(answer), 0);
	assert_true(n >= (ssize_t)len);
	assert_memory_equal(answer, "\x12\x34\x81", 3);
	assert_memory_equal(answer + 12, query + 12, len - 12);
	if (n > (ssize_t)len)
		memcpy(address, answer + len + 12, (size_t)n - len - 12);
	return (answer[3] & 15) | answer[7] << 8;
}

static const char *address_of(const struct rig *rig, const char *name, char text[INET_ADDRSTRLEN])
{
	char address[16];

	assert_int_equal(ask(rig, name, 1, address), 0x100);
	assert_memory_equal(address, "\xc6\x12", 2);
	return inet_ntop(AF_INET, address, text, INET_ADDRSTRLEN);
}

/* Connect as a program does: query the name, and connect to the address. */
static int connect_by_name(const struct rig *rig, const char *name, uint16_t port)
{
	char text[INET_ADDRSTRLEN];
	int fd = connect_inside(rig->space, SOCK_STREAM, address_of(rig, name, text), port);

	assert_true(fd >= 0);
	return fd;
}

static void answers_for_allowed_names(void **state)
{
	struct rig rig = new_rig();
	char address[16], again[16], other[16];

	assert_int_equal(ask(&rig, "allowed.test", 1, address), 0x100);
	assert_int_equal(ask(&rig, "ALLOWED.test", 1, again), 0x100);
	assert_memory_equal(address, again, 4);
	assert_int_equal(ask(&rig, "x.wild.test", 1, other), 0x100);
	assert_memory_not_equal(address, other, 4);
	assert_int_equal(ask(&rig, "allowed.test", 28, address), 0);
	assert_int_equal(ask(&rig, "allowed.test", 65, address), 0);
	assert_int_equal(ask(&rig, "localhost", 1, address), 0x100);
	assert_memory_equal(address, "\x7f\0\0\1", 4);
	assert_int_equal(ask(&rig, "localhost", 28, address), 0x100);
	assert_memory_equal(address, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void knows_no_other_names(void **state)
{
	struct rig rig = new_rig();
	char address[16];

	assert_int_equal(ask(&rig, "other.test", 1, address), 3);
	expect_denial(&rig, "\"host\":\"other.test\"", "net.allowed_domains");
	assert_int_equal(ask(&rig, "wild.test", 1, address), 3);
	expect_denial(&rig, "\"host\":\"wild.test\"", "\"what\":\"resolve\"");
	assert_int_equal(ask(&rig, "al lowed.test", 1, address), 3);
	expect_denial(&rig, "al?lowed.test", "no host");
	assert_int_equal(ask(&rig, "1.0.0.127.in-addr.arpa", 12, address), 3);
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void answers_queries_over_tcp(void **state)
{
	struct rig rig = new_rig();
	owned_fd int fd = connect_inside(rig.space, SOCK_STREAM, "2001:4860:4860::8888", 53);
	char query[302], answer[302];
	size_t len = make_query("allowed.test", 1, query + 2);

	query[0] = 0;
	query[1] = (char)len;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(send(fd, query, 7, 0), 7);
		assert_int_equal(send(fd, query + 7, len - 5, 0), len - 5);
		assert_true(receive(fd, answer, 2 + len + 16));
		assert_int_equal(answer[1], len + 16);
		assert_memory_equal(answer + 14, query + 14, len - 12);
	}
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(recv(fd, answer, 1, 0), 0);
	assert_int_equal(rig_stop(&rig), 0);
}

/* -------------------------------------------------------- direct connections */

static void expect_reset(int fd)
{
	char c;

	assert_int_equal(recv(fd, &c, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void expect_echo(int client, int server)
{
	char bytes[5];

	assert_true(send_text(client, "\1ping"));
	assert_true(receive(server, bytes, 5));
	assert_memory_equal(bytes, "\1ping", 5);
	assert_true(send_text(server, "\2pong"));
	assert_true(receive(client, bytes, 5));
	assert_memory_equal(bytes, "\2pong", 5);
}

static void carries_connections_by_name(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	owned_fd int client = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int server = accept_outside(listener);

	expect_echo(client, server);
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void passes_each_end_on_alone(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	owned_fd int client = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int server = accept_outside(listener);
	char bytes[6];

	assert_true(send_text(client, "last"));
	assert_int_equal(shutdown(client, SHUT_WR), 0);
	assert_true(receive(server, bytes, 4));
	assert_int_equal(recv(server, bytes, 1, 0), 0);
	assert_true(send_text(server, "answer"));
	assert_true(receive(client, bytes, 6));
	assert_memory_equal(bytes, "answer", 6);
	close_fd(&server);
	assert_int_equal(recv(client, bytes, 1, 0), 0);
	assert_int_equal(rig_stop(&rig), 0);
}

static void passes_a_reset_on(void **state)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	owned_fd int client = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int server = accept_outside(listener);

	expect_echo(client, server);
	assert_int_equal(setsockopt(server, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	close_fd(&server);
	expect_reset(client);
	assert_int_equal(rig_stop(&rig), 0);
}

static void denies_what_no_rule_allows(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *subject;
	} attempts[] = {
		{ "1.2.3.4", 443, "\"host\":\"1.2.3.4\",\"port\":443" },
		{ "2001:db8::7", 443, "\"host\":\"2001:db8::7\",\"port\":443" },
		{ "169.254.169.254", 443, "169.254.169.254" },
		{ SERVER_ADDRESS, 8080, SERVER_ADDRESS },
		{ "127.0.0.1", 443, "127.0.0.1" },
		{ "198.18.9.9", 443, "198.18.9.9" },
	};
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside("::", 443);

	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		owned_fd int client =
			connect_inside(rig.space, SOCK_STREAM, attempts[i].host, attempts[i].port);

		assert_true(client >= 0);
		expect_reset(client);
		expect_denial(&rig, attempts[i].subject, "\"what\":\"connect\"");
	}
	assert_false(becomes_readable(listener, NOTHING_MS));
	assert_int_equal(rig_stop(&rig), 0);
}

static void denies_a_port_that_the_rule_of_the_name_lacks(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	owned_fd int client = connect_by_name(&rig, "x.wild.test", 8080);

	expect_reset(client);
	expect_denial(&rig, "\"host\":\"x.wild.test\",\"port\":8080", "net.allowed_domains");
	assert_false(becomes_readable(listener, NOTHING_MS));
	assert_int_equal(rig_stop(&rig), 0);
}

static void refuses_names_of_private_addresses(void **state)
{
	static const char *const names[][2] = { { "private.test", "10.0.0.1 is a private" },
		{ "loopback.test", "::1 is a private" } };
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside("::", 443);

	for (size_t i = 0; i < 2; i++) {
		owned_fd int client = connect_by_name(&rig, names[i][0], 443);

		expect_reset(client);
		expect_denial(&rig, names[i][0], names[i][1]);
	}
	assert_false(becomes_readable(listener, NOTHING_MS));
	assert_int_equal(rig_stop(&rig), 0);
}

static void tries_each_address(void **state)
{
	static const char *const names[] = { "second.test", "half.test" };
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 443);

	for (size_t i = 0; i < 2; i++) {
		owned_fd int client = connect_by_name(&rig, names[i], 443);
		owned_fd int server = accept_outside(listener);

		expect_echo(client, server);
	}
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void reaches_servers_of_ipv6(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside("2606:2800::1", 443);
	owned_fd int client = connect_by_name(&rig, "six.test", 443);
	owned_fd int server = accept_outside(listener);

	expect_echo(client, server);
	assert_int_equal(rig_stop(&rig), 0);
}

static void resets_where_no_server_answers(void **state)
{
	static const char *const names[] = { "gone.test", "slow.test", "allowed.test" };
	struct rig rig = new_rig();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[INET_ADDRSTRLEN];
		const char *address = address_of(&rig, names[i], text);
		owned_fd int client = connect_inside(rig.space, SOCK_STREAM, address, 443);

		expect_reset(client);
	}
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void carries_connections_to_loopback_of_the_machine(void **state)
{
	static const struct {
		const char *outside, *inside;
		uint16_t port;
	} ways[] = { { "127.0.0.1", "127.0.0.1", 8199 }, { "127.0.0.1", "127.0.0.1", 8200 },
		{ "::1", "::1", 8200 } };
	struct rig rig = new_rig();

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		owned_fd int listener = listen_outside(ways[i].outside, ways[i].port);
		owned_fd int client =
			connect_inside(rig.space, SOCK_STREAM, ways[i].inside, ways[i].port);
		owned_fd int server = accept_outside(listener);

		expect_echo(client, server);
	}
	expect_no_denial(&rig);
	owned_fd int client = connect_inside(rig.space, SOCK_STREAM, "::1", 8199);
	expect_reset(client);
	expect_denial(&rig, "\"host\":\"::1\",\"port\":8199", "net.allowed_domains");
	assert_int_equal(rig_stop(&rig), 0);
}

static void explains_ports_without_a_listener(void **state)
{
	struct rig rig = new_rig();
	char text[INET_ADDRSTRLEN];
	const char *address = address_of(&rig, "allowed.test", text);

	assert_int_equal(connect_inside(rig.space, SOCK_STREAM, address, 22), -1);
	assert_int_equal(errno, ECONNREFUSED);
	expect_denial(&rig, "\"host\":\"allowed.test\",\"port\":22", "net.allowed_domains");
	owned_fd int packets = connect_inside(rig.space, SOCK_DGRAM, "2001:db8::1", 443);
	assert_true(send_text(packets, "quic"));
	expect_denial(&rig, "\"host\":\"2001:db8::1\",\"port\":443", "no UDP");
	assert_int_equal(rig_stop(&rig), 0);
}

/* ---------------------------------------------------------------- first bytes */

/*
 * Send a hello in parts to a server on port 443.  Returns the server's side of the connection, or
 * -1.
 */
static int greet(const struct rig *rig, int listener, int client, const char *name, size_t record,
	size_t part)
{
	owned(buf_release) struct buf hello = BUF_INIT, got = BUF_INIT;
	owned_fd int server = accept_outside(listener);

	assert_true(server >= 0);
	make_hello(&hello, name, record);
	for (size_t at = 0; at < hello.len; at += part) {
		size_t n = hello.len - at < part ? hello.len - at : part;

		(void)!send(client, hello.data + at, n, MSG_NOSIGNAL);
		if (part < hello.len)
			usleep(1000);
	}
	char *bytes = buf_reserve(&got, hello.len);
	if (!receive(server, bytes, hello.len))
		return -1;
	assert_memory_equal(bytes, hello.data, hello.len);
	return take_fd(&server);
}

static void lets_hellos_for_the_name_pass(void **state)
{
	static const struct {
		const char *name;
		size_t record, part;
	} hellos[] = { { "allowed.test", 16384, 16384 }, { "ALLOWED.test", 16384, 16384 },
		{ NULL, 16384, 16384 }, { "allowed.test", 7, 16384 }, { "allowed.test", 16384, 9 },
		{ "allowed.test", 20, 3 } };
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 443);

	for (size_t i = 0; i < sizeof(hellos) / sizeof(hellos[0]); i++) {
		owned_fd int client = connect_by_name(&rig, "allowed.test", 443);
		owned_fd int server = greet(
			&rig, listener, client, hellos[i].name, hellos[i].record, hellos[i].part);

		assert_true(server >= 0);
		expect_echo(client, server);
	}
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void resets_hellos_for_another_name(void **state)
{
	static const char *const names[] = { "other.test", "x.wild.test", SERVER_ADDRESS };
	static const uint16_t ports[] = { 443, 8080 };
	struct rig rig = new_rig();

	for (size_t p = 0; p < 2; p++) {
		owned_fd int listener = listen_outside(SERVER_ADDRESS, ports[p]);

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			owned_fd int client = connect_by_name(&rig, "allowed.test", ports[p]);

			assert_int_equal(greet(&rig, listener, client, names[i], 30, 11), -1);
			expect_reset(client);
			expect_denial(&rig, names[i], "'allowed.test', which was dialled");
		}
	}
	assert_int_equal(rig_stop(&rig), 0);
}

static void resets_malformed_hellos(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 443);
	owned_fd int client = connect_by_name(&rig, "allowed.test", 443);
	owned_fd int server = accept_outside(listener);
	char c;

	assert_int_equal(send(client, "\x16\3\1\0\5\2\0\0\1\0", 10, 0), 10);
	expect_reset(client);
	assert_true(recv(server, &c, 1, 0) <= 0);
	expect_denial(&rig, "allowed.test", "malformed");
	assert_int_equal(rig_stop(&rig), 0);
}

/* A program that connects to an address of a rule may send a name that a rule allows. */
static void checks_names_told_to_an_address(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 443);
	static const char *const allowed[] = { "allowed.test", "x.wild.test", NULL };

	for (size_t i = 0; i < 3; i++) {
		owned_fd int client = connect_inside(rig.space, SOCK_STREAM, SERVER_ADDRESS, 443);
		owned_fd int server = greet(&rig, listener, client, allowed[i], 999, 999);

		assert_true(server >= 0);
	}
	owned_fd int client = connect_inside(rig.space, SOCK_STREAM, SERVER_ADDRESS, 443);
	assert_int_equal(greet(&rig, listener, client, "other.test", 999, 999), -1);
	expect_denial(&rig, "\"host\":\"other.test\",\"port\":443", "net.allowed_domains");
	assert_int_equal(rig_stop(&rig), 0);
}

static void lets_requests_for_the_name_pass(void **state)
{
	static const char requests[] =
		"POST / HTTP/1.1\r\nHost: Allowed.test\r\nContent-Length: 5\r\n\r\n12345"
		"POST / HTTP/1.1\r\nhost: allowed.test:80\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3\r\nabc\r\n0\r\n\r\n"
		"GET / HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\n\r\n\x81\1\2";
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 80);

	for (size_t part = 1; part < sizeof(requests); part = part * 6 + 30) {
		owned_fd int client = connect_by_name(&rig, "allowed.test", 80);
		owned_fd int server = accept_outside(listener);
		char got[sizeof(requests) - 1];

		for (size_t at = 0; at < sizeof(got); at += part)
			assert_true(
				send(client, requests + at,
					sizeof(got) - at < part ? sizeof(got) - at : part, 0) > 0);
		assert_true(receive(server, got, sizeof(got)));
		assert_memory_equal(got, requests, sizeof(got));
		expect_echo(client, server);
	}
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void answers_requests_for_another_name(void **state)
{
	static const struct {
		const char *request, *status, *rule;
	} requests[] = {
		{ "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "HTTP/1.1 403 ", "Host header" },
		{ "GET / HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n", "HTTP/1.1 403 ",
			"does not name" },
		{ "GET http://other.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "HTTP/1.1 403 ",
			NULL },
		{ "GET / HTTP/1.1\r\nHost: allowed.test\nX: y\r\n\r\n", "HTTP/1.1 400 ",
			"CR and LF" },
		{ "PRI * HTTP/2.0\r\n\r\n", "HTTP/1.1 400 ", "version" },
	};
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 80);

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		owned(buf_release) struct buf answer = BUF_INIT;
		owned_fd int client = connect_by_name(&rig, "allowed.test", 80);
		owned_fd int server = accept_outside(listener);
		char c;

		assert_true(send_text(client, requests[i].request));
		receive_all(client, &answer);
		assert_int_equal(errno, 0);
		assert_ptr_equal(strstr(answer.data, requests[i].status), answer.data);
		/* The same denial is written only once in a second. */
		if (requests[i].rule)
			expect_denial(&rig, "\"port\":80", requests[i].rule);
		assert_true(recv(server, &c, 1, 0) <= 0);
	}
	assert_int_equal(rig_stop(&rig), 0);
}

static void checks_each_request_of_a_connection(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 80);
	owned_fd int client = connect_by_name(&rig, "allowed.test", 80);
	owned_fd int server = accept_outside(listener);
	static const char first[] = "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
	char got[sizeof(first)];

	assert_true(send_text(client, first));
	assert_true(receive(server, got, sizeof(first) - 1));
	assert_true(send_text(client, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"));
	expect_denial(&rig, "\"host\":\"other.test\"", "Host header");
	assert_true(recv(server, got, 1, 0) <= 0);
	assert_int_equal(rig_stop(&rig), 0);
}

static void explains_denied_hosts_on_port_80(void **state)
{
	struct rig rig = new_rig();
	owned(buf_release) struct buf answer = BUF_INIT;
	owned_fd int client = connect_inside(rig.space, SOCK_STREAM, "1.2.3.4", 80);

	assert_true(send_text(client, "GET / HTTP/1.1\r\nHost: 1.2.3.4\r\n\r\n"));
	receive_all(client, &answer);
	assert_int_equal(errno, 0);
	assert_non_null(strstr(answer.data, "403 Forbidden"));
	assert_non_null(strstr(answer.data, "add 1.2.3.4 to net.allowed_domains"));
	expect_denial(&rig, "1.2.3.4", "net.allowed_domains");
	assert_int_equal(rig_stop(&rig), 0);
}

/* -------------------------------------------------------------- HTTP and SOCKS */

static int connect_to_proxy(const struct rig *rig, uint16_t port)
{
	int fd = connect_inside(rig->space, SOCK_STREAM, "127.0.0.1", port);

	assert_true(fd >= 0);
	return fd;
}

static void opens_tunnels(void **state)
{
	static const char *const hosts[] = { "allowed.test:443", "Allowed.Test.:443",
		SERVER_ADDRESS ":443" };
	static const char accepted[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 443);

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		owned_fd int client = connect_to_proxy(&rig, rig.http);
		char request[256], got[sizeof(accepted)];

		snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
			hosts[i], hosts[i]);
		assert_true(send_text(client, request));
		assert_true(receive(client, got, sizeof(accepted) - 1));
		assert_memory_equal(got, accepted, sizeof(accepted) - 1);
		owned_fd int server = greet(&rig, listener, client, "allowed.test", 99, 50);
		assert_true(server >= 0);
		expect_echo(client, server);
	}
	expect_no_denial(&rig);
	owned_fd int client = connect_to_proxy(&rig, rig.http);
	assert_true(send_text(client, "CONNECT allowed.test:443 HTTP/1.0\r\n\r\n"));
	char got[sizeof(accepted)];
	assert_true(receive(client, got, sizeof(accepted) - 1));
	assert_int_equal(greet(&rig, listener, client, "other.test", 99, 50), -1);
	expect_denial(&rig, "other.test", "TLS server name");
	assert_int_equal(rig_stop(&rig), 0);
}

static void explains_why_it_opens_no_tunnel(void **state)
{
	static const struct {
		const char *request, *status, *text;
		bool denied;
	} requests[] = {
		{ "CONNECT other.test:443", "403 Forbidden", "remedy: add other.test", true },
		{ "CONNECT 1.2.3.4:443", "403 Forbidden", "rule: net.allowed_domains", true },
		{ "CONNECT [::ffff:1.2.3.5]:443", "403 Forbidden", "1.2.3.5", true },
		{ "CONNECT private.test:443", "403 Forbidden", "private address", true },
		{ "CONNECT loopback.test:443", "403 Forbidden", "private address", true },
		{ "CONNECT localhost:22", "403 Forbidden", "localhost", true },
		{ "GET http://other.test/", "403 Forbidden", "other.test", true },
		{ "CONNECT gone.test:443", "502 Bad Gateway", "no address", false },
		{ "CONNECT slow.test:443", "502 Bad Gateway", "no address", false },
		{ "CONNECT allowed.test:443", "502 Bad Gateway", "refuses", false },
		{ "CONNECT allowed.test", "400 Bad Request", "malformed", false },
		{ "CONNECT u@allowed.test:443", "400 Bad Request", "malformed", false },
		{ "CONNECT 127.1:443", "400 Bad Request", "malformed", false },
		{ "GET /", "400 Bad Request", "this is a proxy", false },
		{ "GET https://allowed.test/", "400 Bad Request", "this is a proxy", false },
		{ "GET http://allowed.test@other.test/", "400 Bad Request", "malformed", false },
	};
	struct rig rig = new_rig();

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		owned(buf_release) struct buf answer = BUF_INIT;
		owned_fd int client = connect_to_proxy(&rig, rig.http);

		assert_true(send_text(client, requests[i].request));
		assert_true(send_text(client, " HTTP/1.1\r\nHost: x\r\n\r\n"));
		receive_all(client, &answer);
		assert_int_equal(errno, 0);
		if (!strstr(answer.data, requests[i].status) ||
			!strstr(answer.data, requests[i].text))
			fail_msg("%s: %s", requests[i].request, answer.data);
		if (requests[i].denied)
			expect_denial(&rig, "\"what\":\"connect\"", "");
	}
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void forwards_single_requests(void **state)
{
	static const char request[] =
		"POST http://Allowed.test/a?b HTTP/1.1\r\nHost: whatever.test\r\n"
		"Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\n"
		"Accept: */*\r\nContent-Length: 3\r\n\r\nabc"
		"GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n";
	static const char expected[] = "POST /a?b HTTP/1.1\r\nHost: allowed.test\r\nAccept: */*\r\n"
				       "Content-Length: 3\r\nConnection: close\r\n\r\nabc";
	struct rig rig = new_rig();
	owned(buf_release) struct buf got = BUF_INIT, answer = BUF_INIT;
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 80);
	owned_fd int client = connect_to_proxy(&rig, rig.http);

	assert_true(send_text(client, request));
	owned_fd int server = accept_outside(listener);
	assert_true(send_text(server, "HTTP/1.1 200 OK\r\n\r\nbody"));
	assert_int_equal(shutdown(server, SHUT_WR), 0);
	receive_all(client, &answer);
	assert_string_equal(answer.data, "HTTP/1.1 200 OK\r\n\r\nbody");
	close_fd(&client);
	receive_all(server, &got);
	assert_string_equal(got.data, expected);
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void ends_requests_that_never_come(void **state)
{
	struct rig rig = new_rig();
	owned_fd int http = connect_to_proxy(&rig, rig.http);
	owned_fd int socks = connect_to_proxy(&rig, rig.socks);

	assert_true(send_text(http, "CONNECT allowed"));
	expect_reset(http);
	expect_reset(socks);
	assert_int_equal(rig_stop(&rig), 0);
}

#define SOCKS_TEXT(literal) (literal), sizeof(literal) - 1

static void serves_socks(void **state)
{
	static const struct {
		const char *request;
		size_t len;
	} requests[] = {
		{ SOCKS_TEXT("\5\1\0\3\x0c"
			     "allowed.test\1\xbb") },
		{ SOCKS_TEXT("\5\1\0\1\x5d\xb8\xd8\x22\1\xbb") },
		{ SOCKS_TEXT("\5\1\0\3\x0e"
			     "93.184.216.34x\1\xbb") },
	};
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 443);

	for (size_t i = 0; i < 2; i++) {
		owned_fd int client = connect_to_proxy(&rig, rig.socks);
		char answer[10];

		assert_int_equal(send(client, "\5\2\0\2", 4, 0), 4);
		assert_true(receive(client, answer, 2));
		assert_memory_equal(answer, "\5\0", 2);
		assert_true(send(client, requests[i].request, requests[i].len, 0) > 0);
		assert_true(receive(client, answer, 10));
		assert_memory_equal(answer, "\5\0\0\1\0\0\0\0\0\0", 10);
		owned_fd int server = accept_outside(listener);
		expect_echo(client, server);
	}
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

static void refuses_socks_requests(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *answer;
		size_t answer_len;
		const char *denial;
	} requests[] = {
		{ SOCKS_TEXT("\5\1\0\5\1\0\3\x0aother.test\1\xbb"), SOCKS_TEXT("\5\0\5\2"),
			"other.test" },
		{ SOCKS_TEXT("\5\1\0\5\1\0\1\1\2\3\4\1\xbb"), SOCKS_TEXT("\5\0\5\2"), "1.2.3.4" },
		{ SOCKS_TEXT("\5\1\0\5\1\0\3\x0cprivate.test\1\xbb"), SOCKS_TEXT("\5\0\5\2"),
			"private address" },
		{ SOCKS_TEXT("\5\1\0\5\1\0\3\x0e"
			     "allowed.test\r\n\1\xbb"),
			SOCKS_TEXT("\5\0\5\2"), NULL },
		{ SOCKS_TEXT("\5\1\0\5\1\0\3\x0d"
			     "allowed.test\0\1\xbb"),
			SOCKS_TEXT("\5\0\5\2"), NULL },
		{ SOCKS_TEXT("\5\1\0\5\3\0\1\0\0\0\0\0\0"), SOCKS_TEXT("\5\0\5\7"), NULL },
		{ SOCKS_TEXT("\5\1\0\5\1\0\3\x0c"
			     "allowed.test\1\xbb"),
			SOCKS_TEXT("\5\0\5\5"), NULL },
		{ SOCKS_TEXT("\5\1\2"), SOCKS_TEXT("\5\xff"), NULL },
		{ SOCKS_TEXT("\4\1\1\xbb\0\0\0\1x\0allowed.test\0"), SOCKS_TEXT("\0\x5b"), NULL },
	};
	struct rig rig = new_rig();

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		owned(buf_release) struct buf answer = BUF_INIT;
		owned_fd int client = connect_to_proxy(&rig, rig.socks);

		assert_true(send(client, requests[i].bytes, requests[i].len, 0) > 0);
		receive_all(client, &answer);
		assert_true(answer.len >= requests[i].answer_len);
		assert_memory_equal(answer.data, requests[i].answer, requests[i].answer_len);
		if (requests[i].denial)
			expect_denial(&rig, requests[i].denial, "\"what\":\"connect\"");
	}
	expect_no_denial(&rig);
	assert_int_equal(rig_stop(&rig), 0);
}

/* ------------------------------------------------------------------------ load */

#define MANY 100

static void serves_many_at_once(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	char text[INET_ADDRSTRLEN];
	const char *address = address_of(&rig, "allowed.test", text);
	int clients[MANY], servers[MANY];

	for (int i = 0; i < MANY; i++) {
		clients[i] = connect_inside(rig.space, SOCK_STREAM, address, 8080);
		assert_true(clients[i] >= 0);
		assert_int_equal(send(clients[i], &i, sizeof(i), 0), sizeof(i));
	}
	for (int i = 0; i < MANY; i++) {
		int which;
		int fd = accept_outside(listener);

		assert_true(receive(fd, &which, sizeof(which)));
		assert_in_range(which, 0, MANY - 1);
		servers[which] = fd;
	}
	for (int i = MANY; i--;)
		expect_echo(clients[i], servers[i]);
	for (int i = 0; i < MANY; i++) {
		close(clients[i]);
		close(servers[i]);
	}
	assert_int_equal(rig_stop(&rig), 0);
}

#define TRANSFER ((size_t)4 << 20)

static _Noreturn void send_pattern(int fd)
{
	for (size_t at = 0; at < TRANSFER; at += sizeof(uint32_t) * 1024) {
		uint32_t words[1024];

		for (size_t i = 0; i < 1024; i++)
			words[i] = (uint32_t)(at / sizeof(uint32_t) + i) * 2654435761u;
		if (send(fd, words, sizeof(words), MSG_NOSIGNAL) != (ssize_t)sizeof(words))
			_exit(1);
	}
	_exit(0);
}

static void check_pattern(int fd, bool slowly)
{
	for (size_t at = 0; at < TRANSFER; at += sizeof(uint32_t) * 1024) {
		uint32_t words[1024];

		assert_true(receive(fd, words, sizeof(words)));
		for (size_t i = 0; i < 1024; i++)
			assert_int_equal(
				words[i], (uint32_t)(at / sizeof(uint32_t) + i) * 2654435761u);
		if (slowly && at % (1 << 18) == 0)
			usleep(5000);
	}
}

/* The data does not fit into all buffers together, so the sender has to wait. */
static void slows_senders_down_for_slow_receivers(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	owned_fd int client = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int server = accept_outside(listener);

	for (int way = 0; way < 2; way++) {
		pid_t sender = child_fork();

		if (sender == 0)
			send_pattern(way ? server : client);
		check_pattern(way ? client : server, true);
		assert_int_equal(child_wait(sender), 0);
	}
	assert_int_equal(rig_stop(&rig), 0);
}

static int64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec used;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static void fill(int fd)
{
	static const char zeros[65536];
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	while (poll(&room, 1, 200) == 1)
		(void)!send(fd, zeros, sizeof(zeros), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * Peers that never read delay no other connection and use no processor time.  This also holds when
 * the other side is gone.
 */
static void does_nothing_while_peers_do_nothing(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	owned_fd int stuck = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int never_reads = accept_outside(listener);
	owned_fd int left = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int deaf = accept_outside(listener);
	owned_fd int idle = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int idle_server = accept_outside(listener);
	owned_fd int half = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int half_server = accept_outside(listener);

	assert_true(never_reads >= 0 && deaf >= 0);
	expect_echo(half, half_server);
	assert_int_equal(shutdown(half, SHUT_WR), 0);
	fill(stuck);
	fill(left);
	close_fd(&left);
	usleep(100000);
	const int64_t before = cpu_ns(rig.pid);
	usleep(400000);
	assert_in_range(cpu_ns(rig.pid) - before, 0, 20000000);
	expect_echo(idle, idle_server);
	assert_int_equal(rig_stop(&rig), 0);
}

#define SERIES 300

/* This test notices only a gross slowdown: a connection takes 150 us on an idle machine. */
static void connects_fast(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 8080);
	char text[INET_ADDRSTRLEN];
	const char *address = address_of(&rig, "allowed.test", text);
	const int64_t before = cpu_ns(rig.pid);

	for (int i = 0; i < SERIES; i++) {
		owned_fd int client = connect_inside(rig.space, SOCK_STREAM, address, 8080);
		owned_fd int server = accept_outside(listener);

		expect_echo(client, server);
	}
	const int64_t each = (cpu_ns(rig.pid) - before) / SERIES;
	print_message("# %lld us of the proxy for a connection\n", (long long)each / 1000);
	assert_in_range(each, 0, 5000000);
	assert_int_equal(rig_stop(&rig), 0);
}

/* ---------------------------------------------------------------------- grants */

static void order(const struct rig *rig, const char *text, const char *expected)
{
	char answer[256];

	assert_true(send_text(rig->orders, text));
	ssize_t n = recv(rig->orders, answer, sizeof(answer) - 1, 0);
	assert_true(n > 0);
	answer[n] = '\0';
	if (!strstr(answer, expected))
		fail_msg("%s", answer);
}

static void grants_and_revokes(void **state)
{
	struct rig rig = new_rig();
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 9000);
	char address[16];

	assert_int_equal(ask(&rig, "other.test", 1, address), 3);
	expect_denial(&rig, "other.test", "resolve");
	order(&rig, "+other.test:9000", "ok");
	owned_fd int client = connect_by_name(&rig, "other.test", 9000);
	owned_fd int server = accept_outside(listener);
	expect_echo(client, server);
	owned_fd int other_listener = listen_outside(SERVER_ADDRESS, 8080);
	owned_fd int kept = connect_by_name(&rig, "allowed.test", 8080);
	owned_fd int kept_server = accept_outside(other_listener);

	order(&rig, "-other.test:9001", "was not granted");
	order(&rig, "-allowed.test", "was not granted");
	order(&rig, "-other.test:9000", "ok");
	expect_reset(client);
	expect_echo(kept, kept_server);
	assert_int_equal(ask(&rig, "other.test", 1, address), 3);
	assert_int_equal(rig_stop(&rig), 0);
}

static void says_that_a_program_has_the_port(void **state)
{
	struct rig rig = new_rig();
	struct err err = { 0 };
	owned_fd int taken = netspace_listen_loopback(rig.space, 9000, &err);
	char address[16];

	assert_true(taken >= 0);
	order(&rig, "+other.test:9000", "9000");
	assert_int_equal(ask(&rig, "other.test", 1, address), 3);
	assert_int_equal(rig_stop(&rig), 0);
}

static void leaves_ports_that_rules_name_to_them(void **state)
{
	const char *own[] = { "allowed.test:3128", "allowed.test:1080", "allowed.test:3129" };
	struct rig rig;

	skip_without_machine();
	rig_start(&rig, own, 3);
	assert_int_equal(rig.http, 3130);
	owned_fd int listener = listen_outside(SERVER_ADDRESS, 3128);
	owned_fd int client = connect_by_name(&rig, "allowed.test", 3128);
	owned_fd int server = accept_outside(listener);
	expect_echo(client, server);
	assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_for_allowed_names),
		cmocka_unit_test(knows_no_other_names),
		cmocka_unit_test(answers_queries_over_tcp),
		cmocka_unit_test(carries_connections_by_name),
		cmocka_unit_test(passes_each_end_on_alone),
		cmocka_unit_test(passes_a_reset_on),
		cmocka_unit_test(denies_what_no_rule_allows),
		cmocka_unit_test(denies_a_port_that_the_rule_of_the_name_lacks),
		cmocka_unit_test(refuses_names_of_private_addresses),
		cmocka_unit_test(tries_each_address),
		cmocka_unit_test(reaches_servers_of_ipv6),
		cmocka_unit_test(resets_where_no_server_answers),
		cmocka_unit_test(carries_connections_to_loopback_of_the_machine),
		cmocka_unit_test(explains_ports_without_a_listener),
		cmocka_unit_test(lets_hellos_for_the_name_pass),
		cmocka_unit_test(resets_hellos_for_another_name),
		cmocka_unit_test(resets_malformed_hellos),
		cmocka_unit_test(checks_names_told_to_an_address),
		cmocka_unit_test(lets_requests_for_the_name_pass),
		cmocka_unit_test(answers_requests_for_another_name),
		cmocka_unit_test(checks_each_request_of_a_connection),
		cmocka_unit_test(explains_denied_hosts_on_port_80),
		cmocka_unit_test(opens_tunnels),
		cmocka_unit_test(explains_why_it_opens_no_tunnel),
		cmocka_unit_test(forwards_single_requests),
		cmocka_unit_test(ends_requests_that_never_come),
		cmocka_unit_test(serves_socks),
		cmocka_unit_test(refuses_socks_requests),
		cmocka_unit_test(serves_many_at_once),
		cmocka_unit_test(slows_senders_down_for_slow_receivers),
		cmocka_unit_test(does_nothing_while_peers_do_nothing),
		cmocka_unit_test(connects_fast),
		cmocka_unit_test(grants_and_revokes),
		cmocka_unit_test(says_that_a_program_has_the_port),
		cmocka_unit_test(leaves_ports_that_rules_name_to_them),
	};

	enter_machine();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
