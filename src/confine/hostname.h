/*
 * hostname - names, addresses and ports of hosts, as text from programs that may lie.
 *
 * Only one spelling of each address is accepted, and only bytes that names of hosts have, so that
 * the text that a rule was compared with is the text that is dialled.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"
#include "sandbox/netspace.h"

#define HOSTNAME_MAX 253                     /* bytes of a name, without the dot at its end */
#define HOSTNAME_PORT_MAX (HOSTNAME_MAX + 8) /* bytes of "[HOST]:PORT" */

/* A host as it is dialled. */
struct hostname {
	char text[HOSTNAME_MAX +
		  1]; /* lower case, without a dot at its end; an address as inet_ntop */
	uint16_t port;
	bool literal;                   /* text is an address */
	union netspace_address address; /* if literal, with the port */
};

/*
 * Read a name or an address; one of IPv6 stands in brackets if brackets.  The last label of a name
 * is no number, which some programs would take for an address.
 */
bool hostname_read(struct str text, bool brackets, struct hostname *out);
/* Read "HOST:PORT", or "HOST" if there is a default port. */
bool hostname_read_port(struct str text, uint16_t default_port, struct hostname *out);
/* Whether text is such a name, and no address. */
bool hostname_is_name(struct str text);
void hostname_of_address(const union netspace_address *address, struct hostname *out);
void hostname_set_port(struct hostname *host, uint16_t port);
bool hostname_is_loopback(const union netspace_address *address);
/* Whether name is "localhost", or below it. */
bool hostname_is_localhost(const char *name);
/* "HOST:PORT" for people; out has HOSTNAME_PORT_MAX bytes. */
const char *hostname_print(const struct hostname *host, char out[HOSTNAME_PORT_MAX]);
