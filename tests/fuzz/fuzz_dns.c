/*
 * A packet is no query, or gets an answer.  The answer repeats the number and the question of the
 * query, and is itself not read as a query.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/dns.h"
#include "core/own.h"

static void check_answer(
	const struct dns_query *query, enum dns_code code, const union netspace_address *address)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct dns_query again;

	dns_answer(&out, query, code, address);
	if (out.len < 12 || memcmp(out.data, query->header, 2) != 0 ||
		(out.data[3] & 15) != (int)code ||
		memcmp(out.data + 12, query->question.ptr, query->question.len) != 0)
		abort();
	if (dns_read((struct str){ out.data, out.len }, &again) != DNS_NONE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const union netspace_address v4 = { .v4 = { .sin_family = AF_INET } };
	const union netspace_address v6 = { .v6 = { .sin6_family = AF_INET6 } };
	struct dns_query query;
	const enum dns_code code = dns_read((struct str){ (const char *)data, size }, &query);

	if (strlen(query.name) > HOSTNAME_MAX)
		abort();
	if (code == DNS_NONE)
		return 0;
	if (code == DNS_OK && query.odd == hostname_is_name(str_of(query.name)))
		abort();
	check_answer(&query, code, NULL);
	check_answer(&query, DNS_OK, &v4);
	check_answer(&query, DNS_NO_NAME, &v6);
	return 0;
}
