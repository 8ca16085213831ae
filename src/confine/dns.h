/*
 * dns - queries for names, and answers to them (RFC 1035).
 *
 * A query is a header and one question.  Everything after the question is ignored, such as the
 * extensions of EDNS, which an answer need not have.  A name in a query is a plain list of labels:
 * references to other places in the packet (compression) are refused, since there is no earlier
 * name that a question could refer to.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "confine/hostname.h"
#include "core/buf.h"
#include "core/str.h"

#define DNS_QUERY_MAX 4096 /* a larger query is dropped */
#define DNS_TTL 60         /* seconds for which an answer holds */

enum dns_code {
	DNS_NONE = -1, /* the packet is no query, and gets no answer */
	DNS_OK = 0,
	DNS_MALFORMED = 1,
	DNS_NO_NAME = 3,
	DNS_NOT_IMPLEMENTED = 4,
};

enum dns_type { DNS_A = 1, DNS_AAAA = 28, DNS_ANY = 255 };

struct dns_query {
	uint8_t header[12];
	struct str question; /* as it is in the packet; empty if it is malformed */
	uint16_t type;
	/*
	 * In lower case, without a dot at its end.  Bytes that no host name has are replaced by
	 * "?".
	 */
	char name[HOSTNAME_MAX + 1];
	bool odd; /* name is not the name of a host */
};

/* Read a query.  *out is set for codes above 0 as well, so that these queries can be answered. */
enum dns_code dns_read(struct str packet, struct dns_query *out);
/* Append an answer with a code, and with an address unless address is NULL. */
void dns_answer(struct buf *out, const struct dns_query *query, enum dns_code code,
	const union netspace_address *address);
