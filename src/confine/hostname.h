/*
 * hostname - names, addresses and ports of hosts, read from the text of programs that may lie.
 *
 * The text that is compared with the rules must be the text that is dialled.  So an address is
 * accepted in one spelling only, and a name only if all its bytes may occur in host names.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"
#include "sandbox/netspace.h"

#define HOSTNAME_MAX 253                     /* bytes of a name, without the dot at its end */
#define HOSTNAME_PORT_MAX (HOSTNAME_MAX + 8) /* bytes of "[HOST]:PORT" */

/* The host of a connection. */
struct hostname {
	/* in lower case, without a dot at its end; an address has the form of inet_ntop */
	char text[HOSTNAME_MAX + 1];
	uint16_t port;
	bool literal;                   /* 'text' is an address */
	union netspace_address address; /* if literal: the address, with the port */
};

/*
 * Read a name or an address.  If 'brackets' is set, an IPv6 address must have brackets around it.
 * A name whose last label is a number is refused, since some programs would take it for an address.
 */
bool hostname_read(struct str text, bool brackets, struct hostname *out);
/* Read "HOST:PORT".  If default_port is not 0, also accept "HOST", which gets that port. */
bool hostname_read_port(struct str text, uint16_t default_port, struct hostname *out);
/* Whether the text is a name that hostname_read accepts, and not an address. */
bool hostname_is_name(struct str text);
void hostname_of_address(const union netspace_address *address, struct hostname *out);
void hostname_set_port(struct hostname *host, uint16_t port);
bool hostname_is_loopback(const union netspace_address *address);
/* Whether the name is "localhost" or ends in ".localhost". */
bool hostname_is_localhost(const char *name);
/* Write "HOST:PORT", for people.  Returns 'out'. */
const char *hostname_print(const struct hostname *host, char out[HOSTNAME_PORT_MAX]);
