#include "confine/attempts.h"

#include "confine/admission.h"
#include "sandbox/listeners.h"

#define ATTEMPTS_MAX 64 /* attempts handled before other events get their turn */
#define NAMES_PORT 53

/*
 * Explain why nothing listens on a port.  A rule without a port allows every port of a host, but
 * the proxy listens only on ports that some rule names.
 */
static void explain_port(const struct proxy *proxy, struct hostname *host, struct verdict *out)
{
	if (admission_host(&proxy->policy, host, out))
		admission_deny(out, "name the port in a rule of net.allowed_domains",
			"net.allowed_domains: no rule names port %u", (unsigned)host->port);
}

/*
 * Handle a refused attempt to connect to a loopback address.  Programs in the sandbox have a
 * loopback device of their own, and not the machine's.  So an attempt that no program in the
 * sandbox accepts counts as a denial only if a program of the machine listens at that address.  If
 * no program listens there, the attempt would fail without a policy, too.
 */
static void note_refused(struct proxy *proxy, const struct netspace_attempt *attempt)
{
	struct hostname host;
	struct verdict verdict;

	hostname_of_address(&attempt->to, &host);
	if (!admission_host(&proxy->policy, &host, &verdict) && listeners_accept(&attempt->to))
		proxy_deny(proxy, "connect", &host, &verdict);
}

static void note(struct proxy *proxy, const struct netspace_attempt *attempt)
{
	struct hostname host;
	struct verdict verdict;

	proxy_name_address(proxy, &attempt->to, &host);
	if (attempt->refused) {
		note_refused(proxy, attempt);
	} else if (attempt->udp) {
		/* The packet is a query for a name, or the proxy's answer to one. */
		if (host.port == NAMES_PORT || attempt->from_port == NAMES_PORT)
			return;
		admission_deny(&verdict, "use TCP, or net.mode \"host\"",
			"net.mode: allowlist carries no UDP");
		proxy_deny(proxy, "connect", &host, &verdict);
	} else if (!proxy_listens(proxy, host.port)) {
		explain_port(proxy, &host, &verdict);
		proxy_deny(proxy, "connect", &host, &verdict);
	}
}

void attempts_note(struct proxy *proxy)
{
	struct netspace_attempt attempt;

	for (int i = 0; i < ATTEMPTS_MAX && netspace_watched(proxy->attempts, &attempt); i++)
		note(proxy, &attempt);
}
