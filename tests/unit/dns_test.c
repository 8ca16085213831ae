/* dns: queries are read without trust, and answers have the form that programs expect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "confine/dns.h"
#include "core/own.h"

#define HEADER "\xab\xcd\1\0\0\1\0\0\0\0\0\0"
#define BYTES(literal)                                                                             \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}
#define LABEL_63                                                                                   \
	"\x3f"                                                                                     \
	"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

static const struct {
	struct str packet;
	enum dns_code code;
	const char *name;
	uint16_t type;
	bool odd;
} queries[] = {
	{ BYTES(HEADER "\1a\3Org\0\0\1\0\1"), DNS_OK, "a.org", 1, false },
	{ BYTES(HEADER "\1a\3org\0\0\x1c\0\1"), DNS_OK, "a.org", 28, false },
	/* EDNS and bytes after the question are ignored. */
	{ BYTES("\xab\xcd\1\0\0\1\0\0\0\0\0\1\1a\0\0\1\0\1\0\0\x29\4\xd0\0\0\0\0\0\0"), DNS_OK, "a",
		1, false },
	{ BYTES(HEADER "\4_srv\4_tcp\1a\0\0\x21\0\1"), DNS_OK, "_srv._tcp.a", 33, false },
	{ BYTES(HEADER "\0\0\2\0\1"), DNS_OK, "", 2, true },
	{ BYTES(HEADER "\3a\0b\0\0\1\0\1"), DNS_OK, "a?b", 1, true },
	{ BYTES(HEADER "\3a.b\0\0\1\0\1"), DNS_OK, "a?b", 1, true },
	{ BYTES(HEADER "\2\xff\n\0\0\1\0\1"), DNS_OK, "??", 1, true },
	{ BYTES(HEADER "\3"
		       "127\1"
		       "1\0\0\1\0\1"),
		DNS_OK, "127.1", 1, true },
	{ BYTES(HEADER "\1a\0\0\1\0\3"), DNS_NOT_IMPLEMENTED, "a", 1, false },
	/* packets that are not queries */
	{ BYTES(""), DNS_NONE, "", 0, false },
	{ BYTES("\xab\xcd\1\0\0\1\0\0\0\0\0"), DNS_NONE, "", 0, false },
	{ BYTES("\xab\xcd\x81\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"), DNS_NONE, "", 0, false },
	/* other operations, and other numbers of questions and answers */
	{ BYTES("\xab\xcd\x28\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"), DNS_NOT_IMPLEMENTED, "", 0, false },
	{ BYTES("\xab\xcd\1\0\0\0\0\0\0\0\0\0\1a\0\0\1\0\1"), DNS_MALFORMED, "", 0, false },
	{ BYTES("\xab\xcd\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1\1b\0\0\1\0\1"), DNS_MALFORMED, "", 0,
		false },
	{ BYTES("\xab\xcd\1\0\0\1\0\1\0\0\0\0\1a\0\0\1\0\1"), DNS_MALFORMED, "", 0, false },
	/* compressed names, some of which refer to themselves */
	{ BYTES(HEADER "\xc0\x0c\0\1\0\1"), DNS_MALFORMED, "", 0, false },
	{ BYTES(HEADER "\1a\xc0\x0c\0\1\0\1"), DNS_MALFORMED, "", 0, false },
	{ BYTES(HEADER "\x41"
		       "a\0\0\1\0\1"),
		DNS_MALFORMED, "", 0, false },
	/* packets that end early */
	{ BYTES(HEADER), DNS_MALFORMED, "", 0, false },
	{ BYTES(HEADER "\5a"), DNS_MALFORMED, "", 0, false },
	{ BYTES(HEADER "\1a"), DNS_MALFORMED, "", 0, false },
	{ BYTES(HEADER "\1a\0\0\1\0"), DNS_MALFORMED, "", 0, false },
	/* names that are too long */
	{ BYTES(HEADER LABEL_63 LABEL_63 LABEL_63 LABEL_63 "\0\0\1\0\1"), DNS_MALFORMED, "", 0,
		false },
};

static void reads_queries(void **state)
{
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct dns_query query;

		if (dns_read(queries[i].packet, &query) != queries[i].code)
			fail_msg("query %zu", i);
		assert_string_equal(query.name, queries[i].name);
		assert_int_equal(query.type, queries[i].type);
		assert_int_equal(query.odd, queries[i].odd);
	}
}

static void takes_the_longest_name(void **state)
{
	static const struct str packet = BYTES(HEADER LABEL_63 LABEL_63 LABEL_63
		"\x3d"
		"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghija"
		"\0\0\1\0\1");
	struct dns_query query;

	assert_int_equal(dns_read(packet, &query), DNS_OK);
	assert_int_equal(strlen(query.name), HOSTNAME_MAX);
	assert_false(query.odd);
}

static void expect_answer(const struct str packet, enum dns_code code,
	const union netspace_address *address, const struct str expected)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct dns_query query;

	(void)dns_read(packet, &query);
	dns_answer(&out, &query, code, address);
	assert_int_equal(out.len, expected.len);
	assert_memory_equal(out.data, expected.ptr, expected.len);
}

static void writes_answers(void **state)
{
	const struct str query = BYTES(HEADER "\1A\0\0\1\0\1");
	const union netspace_address v4 = { .v4 = { .sin_family = AF_INET,
						    .sin_addr.s_addr = htonl(0xc6120001) } };
	const union netspace_address v6 = { .v6 = { .sin6_family = AF_INET6,
						    .sin6_addr = IN6ADDR_LOOPBACK_INIT } };

	expect_answer(query, DNS_OK, &v4,
		(struct str)BYTES("\xab\xcd\x81\x80\0\1\0\1\0\0\0\0\1A\0\0\1\0\1"
				  "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1"));
	expect_answer(query, DNS_OK, &v6,
		(struct str)BYTES("\xab\xcd\x81\x80\0\1\0\1\0\0\0\0\1A\0\0\1\0\1"
				  "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10"
				  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"));
	expect_answer(query, DNS_OK, NULL,
		(struct str)BYTES("\xab\xcd\x81\x80\0\1\0\0\0\0\0\0\1A\0\0\1\0\1"));
	expect_answer(query, DNS_NO_NAME, NULL,
		(struct str)BYTES("\xab\xcd\x81\x83\0\1\0\0\0\0\0\0\1A\0\0\1\0\1"));
	/* A question that cannot be read is left out of the answer. */
	expect_answer((struct str)BYTES(HEADER "\5a"), DNS_MALFORMED, NULL,
		(struct str)BYTES("\xab\xcd\x81\x81\0\0\0\0\0\0\0\0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_queries),
		cmocka_unit_test(takes_the_longest_name),
		cmocka_unit_test(writes_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
