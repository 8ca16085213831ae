/* hostname: each host has one spelling, and bytes that cannot occur in hosts are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "confine/hostname.h"

static const struct good {
	const char *text;
	const char *host;
	uint16_t port;
	bool literal;
} good[] = {
	{ "example.org:443", "example.org", 443, false },
	{ "Example.ORG.:443", "example.org", 443, false },
	{ "example.org", "example.org", 8, false },
	{ "_dmarc.a-b.example.org:1", "_dmarc.a-b.example.org", 1, false },
	{ "localhost:65535", "localhost", 65535, false },
	{ "1e100.net:80", "1e100.net", 80, false },
	{ "xn--bcher-kva.example:80", "xn--bcher-kva.example", 80, false },
	{ "127.0.0.1:80", "127.0.0.1", 80, true },
	{ "[::1]:80", "::1", 80, true },
	{ "[0:0:0:0:0:0:0:1]", "::1", 8, true },
	{ "[2001:DB8::1]:80", "2001:db8::1", 80, true },
	{ "[::ffff:127.0.0.1]:80", "127.0.0.1", 80, true },
};

static const char *const bad[] = { "", ":80", "example.org:", "example.org:0", "example.org:65536",
	"example.org:080808", "example.org:+80", "example.org:80 ", " example.org:80",
	"user@example.org:80", "a/b:80", "a..b:80", ".a:80", "a.b..:80", "..:80", ".:80", "a b:80",
	"a\tb:80", "a\r\nb:80", "ex\xc3\xa4mple.org:80", "a%00b:80", "127.1:80", "2130706433:80",
	"0x7f000001:80", "0x7f.0.0.1:80", "0177.0.0.1:80", "127.0.0.01:80", "127.0.0.256:80",
	"1.2.3.4.:80", "example.123:80", "example.0x1:80", "::1:80", "::1", "[::1", "::1]:80",
	"[::1]x:80", "[example.org]:80", "[127.0.0.1]:80", "[fe80::1%lo]:80", "[]:80",
	"[::1]:", "a*:80", "*.a:80", "a,b:80" };

static void reads_hosts_with_ports(void **state)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct hostname host;

		if (!hostname_read_port(str_of(good[i].text), 8, &host))
			fail_msg("%s", good[i].text);
		assert_string_equal(host.text, good[i].host);
		assert_int_equal(host.port, good[i].port);
		assert_int_equal(host.literal, good[i].literal);
		if (host.literal)
			assert_int_equal(ntohs(host.address.v4.sin_port), good[i].port);
	}
}

static void refuses_other_spellings(void **state)
{
	struct hostname host;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (hostname_read_port(str_of(bad[i]), 0, &host))
			fail_msg("%s is read as %s", bad[i], host.text);
	assert_false(hostname_read_port((struct str){ "a\0b.org:80", 10 }, 0, &host));
	assert_false(hostname_read((struct str){ "127.0.0.1\0", 10 }, false, &host));
}

static void limits_the_length_of_names(void **state)
{
	char name[HOSTNAME_MAX + 3];
	struct hostname host;

	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 64 == 63 ? '.' : 'a';
	assert_true(hostname_read((struct str){ name, HOSTNAME_MAX }, false, &host));
	assert_int_equal(strlen(host.text), HOSTNAME_MAX);
	name[HOSTNAME_MAX] = '.';
	assert_true(hostname_read((struct str){ name, HOSTNAME_MAX + 1 }, false, &host));
	name[HOSTNAME_MAX] = 'a';
	assert_false(hostname_read((struct str){ name, HOSTNAME_MAX + 1 }, false, &host));
	name[63] = 'a';
	assert_false(hostname_read((struct str){ name, 64 }, false, &host));
}

static void takes_addresses_without_brackets_where_there_is_no_port(void **state)
{
	struct hostname host;

	assert_true(hostname_read(STR("::1"), false, &host));
	assert_string_equal(host.text, "::1");
	assert_true(hostname_is_loopback(&host.address));
	assert_false(hostname_read(STR("[::1]"), false, &host));
	assert_true(hostname_read(STR("127.255.0.1"), false, &host));
	assert_true(hostname_is_loopback(&host.address));
	assert_true(hostname_read(STR("128.0.0.1"), false, &host));
	assert_false(hostname_is_loopback(&host.address));
}

static void knows_localhost(void **state)
{
	assert_true(hostname_is_localhost("localhost"));
	assert_true(hostname_is_localhost("a.localhost"));
	assert_false(hostname_is_localhost("notlocalhost"));
	assert_false(hostname_is_localhost("localhost.org"));
}

static void prints_what_it_reads(void **state)
{
	char text[HOSTNAME_PORT_MAX];
	struct hostname host;

	assert_true(hostname_read_port(STR("[2001:db8::1]:80"), 0, &host));
	assert_string_equal(hostname_print(&host, text), "[2001:db8::1]:80");
	assert_true(hostname_read_port(STR("A.org."), 443, &host));
	assert_string_equal(hostname_print(&host, text), "a.org:443");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_hosts_with_ports),
		cmocka_unit_test(refuses_other_spellings),
		cmocka_unit_test(limits_the_length_of_names),
		cmocka_unit_test(takes_addresses_without_brackets_where_there_is_no_port),
		cmocka_unit_test(knows_localhost),
		cmocka_unit_test(prints_what_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
