/*
 * dns - reads queries for names, and writes answers to them (RFC 1035).
 *
 * A query is a header and one question.  Everything after the question is ignored, such as the
 * extensions of EDNS, to which an answer need not react.  A name in a query must be a plain list of
 * labels.  A compressed name, which refers to an earlier name of the packet, is refused, since
 * nothing precedes the question.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "confine/hostname.h"
#include "core/buf.h"
#include "core/str.h"

#define DNS_QUERY_MAX 4096 /* a larger query is dropped */
#define DNS_TTL 60         /* seconds for which a program may keep an answer */

enum dns_code {
	DNS_NONE = -1, /* the packet is not a query, and gets no answer */
	DNS_OK = 0,
	DNS_MALFORMED = 1,
	DNS_NO_NAME = 3,
	DNS_NOT_IMPLEMENTED = 4,
};

enum dns_type { DNS_A = 1, DNS_AAAA = 28, DNS_ANY = 255 };

struct dns_query {
	uint8_t header[12];
	struct str question; /* the bytes of the question; empty if the question is malformed */
	uint16_t type;
	/*
	 * The name in lower case, without a dot at its end.  Each byte that no host name can have
	 * is replaced by "?".
	 */
	char name[HOSTNAME_MAX + 1];
	bool odd; /* the name cannot be the name of a host */
};

/*
 * Read a query.  *out is also set if the result is above 0, so that the query can be answered with
 * this code.
 */
enum dns_code dns_read(struct str packet, struct dns_query *out);
/* Append an answer with this code.  If 'address' is not NULL, the answer has this address. */
void dns_answer(struct buf *out, const struct dns_query *query, enum dns_code code,
	const union netspace_address *address);
