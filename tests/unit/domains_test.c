/* domains: forms of hosts, unusual spellings of addresses, classes of addresses, and rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "policy/domains.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void names_are_read(void **state)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "a", "a" },
		{ "Example.COM", "example.com" },
		{ "example.com.", "example.com" },
		{ "a-b.c_d.e1", "a-b.c_d.e1" },
		{ "1.2.3.4.example", "1.2.3.4.example" },
		{ "0x7f.example", "0x7f.example" },
		{ "127.0.0.1.nip.io", "127.0.0.1.nip.io" },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct domains_host host;

		assert_true(domains_read_host(str_of(cases[i].text), &host));
		assert_false(host.is_address);
		assert_string_equal(host.name, cases[i].name);
	}
}

static void addresses_have_one_form(void **state)
{
	static const struct {
		const char *text, *address;
	} cases[] = {
		{ "127.0.0.1", "127.0.0.1" },
		{ "127.0.0.1.", "127.0.0.1" },
		{ "::ffff:127.0.0.1", "127.0.0.1" },
		{ "[::ffff:127.0.0.1]", "127.0.0.1" },
		{ "[::FFFF:7f00:1]", "127.0.0.1" },
		{ "0:0:0:0:0:0:0:1", "::1" },
		{ "[2001:DB8::1]", "2001:db8::1" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf text = BUF_INIT;
		struct domains_host host;

		assert_true(domains_read_host(str_of(cases[i].text), &host));
		assert_true(host.is_address);
		domains_write_address(&text, host.address);
		assert_string_equal(text.data, cases[i].address);
	}
}

static void odd_spellings_are_neither_names_nor_addresses(void **state)
{
	static const struct str cases[] = {
		STR(""), STR("."), STR(".a"), STR("a..b"), STR("a.."), STR("127.1"), STR("127.0.1"),
		STR("2130706433"), STR("0x7f.1"), STR("0x7f000001"), STR("0x7f.0.0.0x1"), STR("0x"),
		STR("a.0X1f"), STR("017700000001"), STR("127.0.0.01"), STR("0127.0.0.1"),
		STR("1.2.3.4.5"), STR("256.0.0.1"), STR("example.1"), STR("[127.0.0.1]"),
		STR("[::1"), STR("::1]"), STR("[]"), STR("fe80::1%eth0"), STR("::ffff:127.1"),
		STR("1:2"), STR("a b"), STR("a\0.b"), STR("a\r\n.b"), STR("a\n"), STR("a/b"),
		STR("a@b"), STR("-a.b"), STR("a-.b"), STR("a%2eb"), STR("\xe3\x80\x82"),
		STR("b\xc3\xbc"
		    "cher.example"),
		STR("\xef\xbc\x91.0.0.1"), /* a full-width digit */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct domains_host host;

		if (domains_read_host(cases[i], &host))
			fail_msg("'%s' is taken for a host", cases[i].ptr);
	}
}

static void lengths_are_limited(void **state)
{
	char name[DOMAINS_NAME_MAX + 3];
	struct domains_host host;

	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	assert_true(domains_read_host((struct str){ name, DOMAINS_NAME_MAX }, &host));
	assert_false(domains_read_host((struct str){ name, DOMAINS_NAME_MAX + 1 }, &host));
	name[49] = name[99] = 'a';
	assert_true(domains_read_host((struct str){ name, 63 }, &host));
	assert_false(domains_read_host((struct str){ name, 64 }, &host));
}

static void addresses_have_classes(void **state)
{
	static const struct {
		const char *text;
		enum domains_class class;
	} cases[] = {
		{ "1.1.1.1", DOMAINS_PUBLIC },
		{ "172.15.255.255", DOMAINS_PUBLIC },
		{ "172.32.0.0", DOMAINS_PUBLIC },
		{ "100.63.255.255", DOMAINS_PUBLIC },
		{ "100.128.0.0", DOMAINS_PUBLIC },
		{ "2606:4700::1111", DOMAINS_PUBLIC },
		{ "127.0.0.1", DOMAINS_LOOPBACK },
		{ "127.255.255.255", DOMAINS_LOOPBACK },
		{ "::1", DOMAINS_LOOPBACK },
		{ "::ffff:127.0.0.1", DOMAINS_LOOPBACK },
		{ "169.254.0.1", DOMAINS_LINK_LOCAL },
		{ "fe80::1", DOMAINS_LINK_LOCAL },
		{ "febf::1", DOMAINS_LINK_LOCAL },
		{ "10.0.0.1", DOMAINS_PRIVATE },
		{ "172.16.0.1", DOMAINS_PRIVATE },
		{ "172.31.255.255", DOMAINS_PRIVATE },
		{ "192.168.1.1", DOMAINS_PRIVATE },
		{ "::ffff:192.168.1.1", DOMAINS_PRIVATE },
		{ "fc00::1", DOMAINS_PRIVATE },
		{ "fdff::1", DOMAINS_PRIVATE },
		{ "fec0::1", DOMAINS_PRIVATE },
		{ "100.64.0.1", DOMAINS_CGNAT },
		{ "100.127.255.255", DOMAINS_CGNAT },
		{ "169.254.169.254", DOMAINS_METADATA },
		{ "::ffff:169.254.169.254", DOMAINS_METADATA },
		{ "fd00:ec2::254", DOMAINS_METADATA },
		{ "100.100.100.200", DOMAINS_METADATA },
		{ "224.0.0.1", DOMAINS_MULTICAST },
		{ "255.255.255.255", DOMAINS_MULTICAST },
		{ "ff02::1", DOMAINS_MULTICAST },
		{ "0.0.0.0", DOMAINS_UNSPECIFIED },
		{ "0.1.2.3", DOMAINS_UNSPECIFIED },
		{ "::", DOMAINS_UNSPECIFIED },
		{ "::ffff:0.0.0.0", DOMAINS_UNSPECIFIED },
		{ "240.0.0.1", DOMAINS_RESERVED },
		{ "192.0.2.1", DOMAINS_RESERVED },
		{ "::127.0.0.1", DOMAINS_RESERVED },
		{ "64:ff9b::1.1.1.1", DOMAINS_PUBLIC },
		{ "64:ff9b::127.0.0.1", DOMAINS_RESERVED },
		{ "64:ff9b::a9fe:a9fe", DOMAINS_RESERVED },
		{ "64:ff9b:1::1.1.1.1", DOMAINS_RESERVED },
		{ "2002:7f00:1::", DOMAINS_RESERVED },
		{ "2002:101:101::", DOMAINS_PUBLIC },
		{ "2001::1", DOMAINS_RESERVED },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct domains_host host;

		assert_true(domains_read_host(str_of(cases[i].text), &host));
		if (domains_classify(host.address) != cases[i].class)
			fail_msg("%s is %s", cases[i].text,
				domains_class_name(domains_classify(host.address)));
	}
}

static void rules_have_one_form(void **state)
{
	static const struct {
		const char *text, *form;
	} cases[] = {
		{ "A.b.", "a.b" },
		{ "a.b:443", "a.b:443" },
		{ "a.b:0443", "a.b:443" },
		{ "*.A.b:*", "*.a.b:*" },
		{ "*", "*" },
		{ "*:8080", "*:8080" },
		{ "127.0.0.1:1", "127.0.0.1:1" },
		{ "::1", "::1" },
		{ "[::1]", "::1" },
		{ "[::1]:65535", "[::1]:65535" },
		{ "[::ffff:1.2.3.4]:*", "1.2.3.4:*" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf text = BUF_INIT;
		struct domains_rule rule;

		assert_null(domains_read_rule(str_of(cases[i].text), &rule));
		domains_write_rule(&text, &rule);
		assert_string_equal(text.data, cases[i].form);
	}
}

static void malformed_rules_say_why(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "has no host" },
		{ ":80", "has no host" },
		{ "*.", "has no host" },
		{ "https://a.b", "is a URL; a rule has only host and port" },
		{ "a.b/c", "has a '/'; a rule has only host and port" },
		{ "a.*.b", "has a '*' that is not the whole first label" },
		{ "*a.b", "has a '*' that is not the whole first label" },
		{ "*.*.b", "has a '*' that is not the whole first label" },
		{ "*.127.0.0.1", "is not an address in dotted decimal" },
		{ "b\xc3\xbc"
		  "cher.example",
			"has letters beyond ASCII; write them as 'xn--...'" },
		{ "0x7f.1", "is not an address in dotted decimal" },
		{ "2130706433:80", "is not an address in dotted decimal" },
		{ "0.0.0.0", "is an unspecified address" },
		{ "[::]:80", "is an unspecified address" },
		{ "a.b:", "has a port that is not between 1 and 65535" },
		{ "a.b:0", "has a port that is not between 1 and 65535" },
		{ "a.b:65536", "has a port that is not between 1 and 65535" },
		{ "a.b:99999999999999999999", "has a port that is not between 1 and 65535" },
		{ "a.b:+1", "has a port that is neither a number nor '*'" },
		{ "a.b:x", "has a port that is neither a number nor '*'" },
		{ "a_b .c", "is not the name of a host" },
		{ "a:b:80", "is not the name of a host" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct domains_rule rule;
		const char *why = domains_read_rule(str_of(cases[i].text), &rule);

		if (!why)
			fail_msg("'%s' is taken for a rule", cases[i].text);
		assert_string_equal(why, cases[i].why);
	}
}

static void rules_match_hosts(void **state)
{
	static const struct {
		const char *rule, *host;
		bool matches;
	} cases[] = {
		{ "a.b", "a.b", true },
		{ "a.b", "A.B.", true },
		{ "a.b", "x.a.b", false },
		{ "*.a.b", "x.a.b", true },
		{ "*.a.b", "y.x.a.b", true },
		{ "*.a.b", "a.b", false },
		{ "*.a.b", "xa.b", false },
		{ "*", "a.b", true },
		{ "*", "1.2.3.4", false },
		{ "*", "::1", false },
		{ "localhost", "localhost", true },
		{ "localhost", "127.9.9.9", true },
		{ "localhost", "::1", true },
		{ "localhost", "::ffff:127.0.0.1", true },
		{ "localhost", "64:ff9b::127.0.0.1", false },
		{ "localhost", "10.0.0.1", false },
		{ "*.localhost", "127.0.0.1", false },
		{ "127.0.0.1", "::ffff:127.0.0.1", true },
		{ "127.0.0.1", "127.0.0.2", false },
		{ "127.0.0.1", "localhost", false },
		{ "1.2.3.4", "1.2.3.4.example", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct domains_rule rule;
		struct domains_host host;

		assert_null(domains_read_rule(str_of(cases[i].rule), &rule));
		assert_true(domains_read_host(str_of(cases[i].host), &host));
		if (domains_matches(&rule, &host) != cases[i].matches)
			fail_msg("%s and %s", cases[i].rule, cases[i].host);
	}
}

static void rules_are_within_wider_ones(void **state)
{
	static const char *const rules[] = { "a.b", "x.a.b", "*.a.b", "*.x.a.b", "*.b", "*",
		"localhost", "127.0.0.1", "1.2.3.4" };
	static const char *const hosts[] = { "a.b", "x.a.b", "y.x.a.b", "b", "c.b", "q",
		"localhost", "127.0.0.1", "127.0.0.2", "::1", "1.2.3.4" };
	size_t within = 0;

	for (size_t i = 0; i < COUNT(rules); i++)
		for (size_t j = 0; j < COUNT(rules); j++) {
			struct domains_rule a, b;

			assert_null(domains_read_rule(str_of(rules[i]), &a));
			assert_null(domains_read_rule(str_of(rules[j]), &b));
			if (!domains_within(&a, &b))
				continue;
			within++;
			for (size_t k = 0; k < COUNT(hosts); k++) {
				struct domains_host host;

				assert_true(domains_read_host(str_of(hosts[k]), &host));
				if (domains_matches(&a, &host) && !domains_matches(&b, &host))
					fail_msg("%s is not within %s: %s", rules[i], rules[j],
						hosts[k]);
			}
		}
	assert_int_equal(within, 21);
}

int main(void)
{
	const struct CMUnitTest domains_tests[] = {
		cmocka_unit_test(names_are_read),
		cmocka_unit_test(addresses_have_one_form),
		cmocka_unit_test(odd_spellings_are_neither_names_nor_addresses),
		cmocka_unit_test(lengths_are_limited),
		cmocka_unit_test(addresses_have_classes),
		cmocka_unit_test(rules_have_one_form),
		cmocka_unit_test(malformed_rules_say_why),
		cmocka_unit_test(rules_match_hosts),
		cmocka_unit_test(rules_are_within_wider_ones),
	};

	return cmocka_run_group_tests(domains_tests, NULL, NULL);
}
