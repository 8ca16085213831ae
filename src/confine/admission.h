/*
 * admission - the questions that the proxy asks the policy, and the denials that the proxy itself
 * decides.
 */
#pragma once
#include "confine/hostname.h"
#include "policy/verdict.h"

/*
 * Whether a program may connect to this host and port.  A rule for "localhost" also allows a host
 * that is a loopback address.  *out becomes the verdict of the policy.
 */
bool admission_host(const struct policy *policy, const struct hostname *host, struct verdict *out);
/*
 * Whether a connection to this host, which the policy allows, may use this address of the host.
 * *out becomes the verdict of the policy.
 */
bool admission_address(const struct policy *policy, const struct hostname *host,
	const union netspace_address *address, struct verdict *out);
/*
 * Whether 'told', a name that a program sends to the server, fits the connection.  The name that
 * was dialled fits.  If an address was dialled, each name that the policy allows fits.  'what'
 * tells people where the name was found, for instance "TLS server name".  If the name does not fit,
 * *out becomes the denial.
 */
bool admission_name(const struct policy *policy, const struct hostname *dialled,
	const struct hostname *told, const char *what, struct verdict *out);
/* Set *out to a denial that does not come from a rule of the policy.  The texts are copied. */
void admission_deny(struct verdict *out, const char *remedy, const char *rule, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * If the policy denies a host that net.grantable offers, set the remedy to the command that grants
 * it.  If the host has no port, the denial is that of a query for its name.
 */
void admission_propose(
	const struct policy *policy, const struct hostname *host, struct verdict *out);
