/* listeners: finds the ports of this network namespace on which programs listen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>

#include "core/own.h"
#include "sandbox/listeners.h"

static union netspace_address address_of(int family, const char *text)
{
	union netspace_address address = { .any.sa_family = (sa_family_t)family };
	void *bytes =
		family == AF_INET ? (void *)&address.v4.sin_addr : (void *)&address.v6.sin6_addr;

	assert_int_equal(inet_pton(family, text, bytes), 1);
	return address;
}

/*
 * Bind a socket to a port that the kernel chooses, and store it in address.  Returns -1 if the
 * kernel does not have this family.
 */
static int bind_to(union netspace_address *address)
{
	socklen_t len = sizeof(*address);
	owned_fd int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, &address->any, netspace_size(address)) < 0)
		return -1;
	assert_int_equal(getsockname(fd, &address->any, &len), 0);
	return take_fd(&fd);
}

static void finds_who_listens(void **state)
{
	static const struct {
		int family;
		const char *listens;
		int tried;
		const char *at;
		bool accepted;
	} cases[] = {
		{ AF_INET, "127.0.0.1", AF_INET, "127.0.0.1", true },
		{ AF_INET, "127.0.0.1", AF_INET, "127.0.0.2", false },
		{ AF_INET, "127.0.0.1", AF_INET6, "::1", false },
		{ AF_INET, "0.0.0.0", AF_INET, "127.0.0.2", true },
		{ AF_INET6, "::1", AF_INET6, "::1", true },
		{ AF_INET6, "::1", AF_INET, "127.0.0.1", false },
		{ AF_INET6, "::", AF_INET, "127.0.0.1", true },
		{ AF_INET6, "::", AF_INET6, "::1", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		union netspace_address bound = address_of(cases[i].family, cases[i].listens);
		union netspace_address tried = address_of(cases[i].tried, cases[i].at);
		owned_fd int fd = bind_to(&bound);

		if (fd < 0 && cases[i].family == AF_INET6)
			continue;
		assert_true(fd >= 0);
		tried.v4.sin_port = bound.v4.sin_port;
		assert_false(listeners_accept(&tried));
		assert_int_equal(listen(fd, 1), 0);
		if (listeners_accept(&tried) != cases[i].accepted)
			fail_msg("%s for %s", cases[i].listens, cases[i].at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_who_listens) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
