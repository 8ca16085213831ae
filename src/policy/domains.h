/*
 * domains - rules about hosts, and what kind of address an address is.
 *
 * A rule is "HOST", "*.HOST" (every name below, at any depth), "*" (every name) or an address, and
 * may end in ":PORT" or ":*".  An IPv6 address with a port is in brackets.
 *
 * A host is a name or an address, never both: text whose last label is a number is an address in
 * dotted decimal or nothing at all, so that "0x7f.1", "127.1" and "2130706433" are not taken for
 * names.  An IPv4 address and its IPv4-mapped IPv6 form are the same address.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

#define DOMAINS_NAME_MAX 253

struct domains_host {
	bool is_address;
	uint8_t address[16];             /* IPv4 as ::ffff:A.B.C.D */
	char name[DOMAINS_NAME_MAX + 1]; /* in lower case, without a dot at the end */
};

/* False: text is neither the name of a host nor an address. */
bool domains_read_host(struct str text, struct domains_host *out);

enum domains_kind { DOMAINS_EXACT, DOMAINS_BELOW, DOMAINS_EVERY };

#define DOMAINS_PORT_NONE 0 /* the rule has no port */
#define DOMAINS_PORT_STAR (-1)

struct domains_rule {
	enum domains_kind kind;
	struct domains_host host; /* not of DOMAINS_EVERY */
	int port;
};

/* NULL, or why text is no rule. */
const char *domains_read_rule(struct str text, struct domains_rule *out);
/* The rule as text, in the form in which two equal rules have the same text. */
void domains_write_rule(struct buf *out, const struct domains_rule *rule);
/* Whether the host is one of the rule's; ports do not count. */
bool domains_matches(const struct domains_rule *rule, const struct domains_host *host);
/* Whether rule has only hosts of other, ports aside. */
bool domains_within(const struct domains_rule *rule, const struct domains_rule *other);

enum domains_class {
	DOMAINS_PUBLIC,
	DOMAINS_LOOPBACK,
	DOMAINS_LINK_LOCAL,
	DOMAINS_PRIVATE,     /* RFC 1918, unique local addresses of IPv6 */
	DOMAINS_CGNAT,       /* shared by the customers of a provider */
	DOMAINS_METADATA,    /* where clouds tell a machine its secrets */
	DOMAINS_MULTICAST,   /* and broadcast */
	DOMAINS_UNSPECIFIED, /* 0.0.0.0/8 and :: */
	DOMAINS_RESERVED,    /* for documentation and tests, or a translation of a non-public one */
};

enum domains_class domains_classify(const uint8_t address[16]);
const char *domains_class_name(enum domains_class class); /* "a loopback address" */

struct sockaddr;
/* The address of a socket address; false if it is not one of the internet. */
bool domains_of_sockaddr(const struct sockaddr *address, struct domains_host *out);
/* The text of an address. */
void domains_write_address(struct buf *out, const uint8_t address[16]);
