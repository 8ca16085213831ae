/*
 * domains - rules about hosts, and the classes of addresses.
 *
 * A rule is one of: "HOST", "*.HOST" (every name below HOST, at any depth), "*" (every name), or an
 * address.  A rule may end in ":PORT" or ":*".  An IPv6 address with a port is in brackets.
 *
 * A host is either a name or an address.  A text whose last label is a number must be an address in
 * dotted decimal.  So "0x7f.1", "127.1" and "2130706433" are not taken for names.  An IPv4 address
 * and its IPv4-mapped IPv6 form are the same address.
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

/* Read a host.  Returns false if the text is neither the name of a host nor an address. */
bool domains_read_host(struct str text, struct domains_host *out);

enum domains_kind { DOMAINS_EXACT, DOMAINS_BELOW, DOMAINS_EVERY };

#define DOMAINS_PORT_NONE 0 /* the rule has no port */
#define DOMAINS_PORT_STAR (-1)

struct domains_rule {
	enum domains_kind kind;
	struct domains_host host; /* not set for DOMAINS_EVERY */
	int port;
};

/* Read a rule.  Returns NULL, or the reason why the text is no rule. */
const char *domains_read_rule(struct str text, struct domains_rule *out);
/* Append a rule as text.  Equal rules have the same text. */
void domains_write_rule(struct buf *out, const struct domains_rule *rule);
/* Whether a rule matches a host.  Ports are ignored. */
bool domains_matches(const struct domains_rule *rule, const struct domains_host *host);
/* Whether the rule 'other' matches every host that 'rule' matches.  Ports are ignored. */
bool domains_within(const struct domains_rule *rule, const struct domains_rule *other);

enum domains_class {
	DOMAINS_PUBLIC,
	DOMAINS_LOOPBACK,
	DOMAINS_LINK_LOCAL,
	DOMAINS_PRIVATE,     /* addresses of RFC 1918, unique local addresses of IPv6 */
	DOMAINS_CGNAT,       /* addresses that the customers of a provider share */
	DOMAINS_METADATA,    /* services by which clouds give a machine its secrets */
	DOMAINS_MULTICAST,   /* includes broadcast addresses */
	DOMAINS_UNSPECIFIED, /* 0.0.0.0/8 and :: */
	/* addresses for documentation, for tests, or for translation of a non-public address */
	DOMAINS_RESERVED,
};

enum domains_class domains_classify(const uint8_t address[16]);
const char *domains_class_name(enum domains_class class); /* "a loopback address" */

struct sockaddr;
/* Read the address of a socket address.  Returns false if the address is neither IPv4 nor IPv6. */
bool domains_of_sockaddr(const struct sockaddr *address, struct domains_host *out);
/* Append the text of an address. */
void domains_write_address(struct buf *out, const uint8_t address[16]);
