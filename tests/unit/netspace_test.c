/* netspace: every address leads to sockets of the test, and no packet leaves the namespace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine_fixture.h"

#define PATIENCE_MS 10000
#define NOTHING_MS 100

static struct netspace *new_space(bool captured)
{
	struct err err = { 0 };

	skip_without_machine();
	struct netspace *space = netspace_new(captured, &err);
	assert_string_equal(err.text, "");
	assert_non_null(space);
	return space;
}

static int listen_on(const struct netspace *space, uint16_t port)
{
	struct err err = { 0 };
	int fd = netspace_listen(space, port, &err);

	assert_string_equal(err.text, "");
	assert_true(fd >= 0);
	return fd;
}

static void delivers_connections_to_any_address(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "1.2.3.4", "169.254.169.254", "255.0.0.1",
		"::1", "2001:db8::1", "fe80::1:2" };
	struct netspace *space = new_space(true);
	owned_fd int listener = listen_on(space, 80);

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		union netspace_address asked, expected;
		struct err err = { 0 };
		bool link_local = !strncmp(hosts[i], "fe80", 4);
		owned_fd int client = connect_inside(space, SOCK_STREAM, hosts[i], 80);

		/* A link-local address cannot be reached unless a device is given. */
		if (link_local && client < 0)
			continue;
		assert_true(client >= 0);
		assert_true(becomes_readable(listener, PATIENCE_MS));
		owned_fd int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		assert_int_equal(netspace_asked(server, &asked, &err), 0);
		make_address(hosts[i], 80, &expected);
		assert_int_equal(asked.any.sa_family, expected.any.sa_family);
		assert_int_equal(asked.v4.sin_port, expected.v4.sin_port);
		if (asked.any.sa_family == AF_INET)
			assert_memory_equal(&asked.v4.sin_addr, &expected.v4.sin_addr, 4);
		else
			assert_memory_equal(&asked.v6.sin6_addr, &expected.v6.sin6_addr, 16);
	}
	netspace_free(space);
}

static void refuses_other_ports_at_once(void **state)
{
	struct netspace *space = new_space(true);
	owned_fd int listener = listen_on(space, 80);

	assert_true(listener >= 0);
	assert_int_equal(connect_inside(space, SOCK_STREAM, "1.2.3.4", 81), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(connect_inside(space, SOCK_STREAM, "2001:db8::1", 81), -1);
	assert_int_equal(errno, ECONNREFUSED);
	netspace_free(space);
}

static void has_no_other_address_unless_captured(void **state)
{
	struct netspace *space = new_space(false);
	owned_fd int listener = listen_on(space, 80);

	assert_true(listener >= 0);
	assert_int_equal(connect_inside(space, SOCK_STREAM, "1.2.3.4", 80), -1);
	assert_int_equal(errno, ENETUNREACH);
	owned_fd int client = connect_inside(space, SOCK_STREAM, "127.0.0.1", 80);
	assert_true(client >= 0);
	netspace_free(space);
}

static void listens_later_and_once(void **state)
{
	struct netspace *space = new_space(true);
	struct err err = { 0 };
	owned_fd int listener = listen_on(space, 8080);

	assert_int_equal(netspace_listen(space, 8080, &err), -ERR_BUSY);
	assert_non_null(strstr(err.text, "8080"));
	assert_int_equal(netspace_listen_loopback(space, 8080, &err), -ERR_BUSY);
	close_fd(&listener);
	owned_fd int again = netspace_listen_loopback(space, 8080, &err);
	assert_true(again >= 0);
	assert_int_equal(connect_inside(space, SOCK_STREAM, "1.2.3.4", 8080), -1);
	owned_fd int client = connect_inside(space, SOCK_STREAM, "127.0.0.1", 8080);
	assert_true(client >= 0);
	netspace_free(space);
}

static void answers_packets_from_the_address_that_was_asked(void **state)
{
	static const char *const hosts[] = { "127.0.0.53", "8.8.8.8", "2001:4860:4860::8888" };
	struct netspace *space = new_space(true);
	struct err err = { 0 };
	owned_fd int server = netspace_datagrams(space, 53, &err);

	assert_true(server >= 0);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct netspace_packet packet = { .peer_len = 0 };
		char bytes[16];
		/*
		 * A connected socket accepts only packets from the address that it is connected to.
		 */
		owned_fd int client = connect_inside(space, SOCK_DGRAM, hosts[i], 53);

		assert_true(client >= 0);
		assert_int_equal(send(client, "query", 5, 0), 5);
		assert_true(becomes_readable(server, PATIENCE_MS));
		assert_int_equal(netspace_receive(server, bytes, sizeof(bytes), &packet), 5);
		netspace_answer(server, "answer", 6, &packet);
		assert_int_equal(recv(client, bytes, sizeof(bytes), 0), 6);
		assert_memory_equal(bytes, "answer", 6);

		assert_int_equal(send(client, "more than there is room for", 27, 0), 27);
		assert_true(becomes_readable(server, PATIENCE_MS));
		assert_int_equal(netspace_receive(server, bytes, sizeof(bytes), &packet), -1);
		assert_int_equal(errno, EMSGSIZE);
	}
	netspace_free(space);
}

static void expect_attempt(int watch, bool udp, const char *host, uint16_t port)
{
	struct netspace_attempt attempt;
	char text[INET6_ADDRSTRLEN];

	assert_true(becomes_readable(watch, PATIENCE_MS));
	assert_true(netspace_watched(watch, &attempt));
	const void *bytes = attempt.to.any.sa_family == AF_INET
				    ? (const void *)&attempt.to.v4.sin_addr
				    : (const void *)&attempt.to.v6.sin6_addr;
	assert_string_equal(inet_ntop(attempt.to.any.sa_family, bytes, text, sizeof(text)), host);
	assert_int_equal(ntohs(attempt.to.v4.sin_port), port);
	assert_int_equal(attempt.udp, udp);
	assert_int_equal(attempt.refused, !strncmp(host, "127.", 4) || !strcmp(host, "::1"));
	assert_false(netspace_watched(watch, &attempt));
}

static void watches_attempts(void **state)
{
	static const char *const loopback[] = { "127.0.0.1", "127.9.9.9", "::1" };
	static const char *const others[] = { "1.2.3.4", "10.0.0.1", "2001:db8::1" };
	struct netspace *space = new_space(true);
	struct err err = { 0 };
	owned_fd int watch = netspace_watch(space, &err);

	assert_true(watch >= 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(connect_inside(space, SOCK_STREAM, loopback[i], 4444), -1);
		expect_attempt(watch, false, loopback[i], 4444);
		assert_int_equal(connect_inside(space, SOCK_STREAM, others[i], 4444), -1);
		expect_attempt(watch, false, others[i], 4444);

		owned_fd int near = connect_inside(space, SOCK_DGRAM, loopback[i], 4444);
		assert_int_equal(send(near, "quick", 5, 0), 5);
		assert_false(becomes_readable(watch, NOTHING_MS));
		owned_fd int far = connect_inside(space, SOCK_DGRAM, others[i], 4444);
		assert_int_equal(send(far, "quick", 5, 0), 5);
		expect_attempt(watch, true, others[i], 4444);
	}
	netspace_free(space);
}

static void watches_the_first_packet_of_a_connection_only(void **state)
{
	struct netspace *space = new_space(true);
	struct netspace_attempt attempt;
	struct err err = { 0 };
	owned_fd int watch = netspace_watch(space, &err);
	owned_fd int listener = listen_on(space, 80);
	owned_fd int client = connect_inside(space, SOCK_STREAM, "1.2.3.4", 80);

	assert_true(client >= 0);
	owned_fd int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(send(client, "bytes", 5, 0), 5);
	assert_int_equal(send(server, "bytes", 5, 0), 5);
	assert_true(netspace_watched(watch, &attempt));
	assert_false(netspace_watched(watch, &attempt));
	netspace_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delivers_connections_to_any_address),
		cmocka_unit_test(refuses_other_ports_at_once),
		cmocka_unit_test(has_no_other_address_unless_captured),
		cmocka_unit_test(listens_later_and_once),
		cmocka_unit_test(answers_packets_from_the_address_that_was_asked),
		cmocka_unit_test(watches_attempts),
		cmocka_unit_test(watches_the_first_packet_of_a_connection_only),
	};

	enter_machine();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
