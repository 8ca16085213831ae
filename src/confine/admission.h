/* admission - what the proxy asks the policy, and the denials that the proxy itself decides. */
#pragma once
#include "confine/hostname.h"
#include "policy/verdict.h"

/*
 * Whether a program may connect to this host and port.  A loopback address is also allowed by a
 * rule for "localhost".
 */
bool admission_host(const struct policy *policy, const struct hostname *host, struct verdict *out);
/* Whether a connection to this host, which the policy allows, may go to this address. */
bool admission_address(const struct policy *policy, const struct hostname *host,
	const union netspace_address *address, struct verdict *out);
/*
 * Whether the name that a program tells a server (told) fits the connection: it must be the name
 * that was dialled or, if an address was dialled, a name that the policy allows.  what says where
 * the name was found, such as "TLS server name".
 */
bool admission_name(const struct policy *policy, const struct hostname *dialled,
	const struct hostname *told, const char *what, struct verdict *out);
/* Set out to a denial that does not come from a rule of the policy. */
void admission_deny(struct verdict *out, const char *remedy, const char *rule, ...)
	__attribute__((format(printf, 3, 4)));
