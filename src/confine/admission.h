/* admission - what the proxy asks the policy, and denials that are the proxy's own. */
#pragma once
#include "confine/hostname.h"
#include "policy/verdict.h"

/*
 * Whether a program may connect to this host and port.  A loopback address is also allowed by a
 * rule for "localhost".
 */
bool admission_host(const struct policy *policy, const struct hostname *host, struct verdict *out);
/* Whether a connection to this host, which is allowed, may go to this address. */
bool admission_address(const struct policy *policy, const struct hostname *host,
	const union netspace_address *address, struct verdict *out);
/*
 * Whether a name that a program tells a server is one that the connection may be for: the name that
 * was dialled or, if that was an address, a name that is allowed.  what is "TLS server name", say.
 */
bool admission_name(const struct policy *policy, const struct hostname *dialled,
	const struct hostname *told, const char *what, struct verdict *out);
/* A denial that needs no policy. */
void admission_deny(struct verdict *out, const char *remedy, const char *rule, ...)
	__attribute__((format(printf, 3, 4)));
