#include "confine/admission.h"

#include <stdarg.h>
#include <stdio.h>

#define LOCALHOST "localhost"
#define OFFERS_MAX 64 /* ports that are tried for the proposed grant */

static bool ask(const struct policy *policy, const char *host, uint16_t port, struct verdict *out)
{
	verdict_host(policy, str_of(host), port, out);
	return out->allowed;
}

bool admission_host(const struct policy *policy, const struct hostname *host, struct verdict *out)
{
	struct verdict for_name;

	if (ask(policy, host->text, host->port, out))
		return true;
	if (!host->literal || !hostname_is_loopback(&host->address) ||
		!ask(policy, LOCALHOST, host->port, &for_name))
		return false;
	*out = for_name;
	return true;
}

bool admission_address(const struct policy *policy, const struct hostname *host,
	const union netspace_address *address, struct verdict *out)
{
	verdict_address(policy, &address->any, host->port, out);
	return out->allowed;
}

bool admission_name(const struct policy *policy, const struct hostname *dialled,
	const struct hostname *told, const char *what, struct verdict *out)
{
	if (!strcmp(told->text, dialled->text))
		return true;
	if (!dialled->literal) {
		admission_deny(out, "connect to the name that the server is asked for",
			"net: the %s '%s' is not '%s', which was dialled", what, told->text,
			dialled->text);
		return false;
	}
	if (hostname_is_loopback(&dialled->address) && hostname_is_localhost(told->text))
		return true;
	return ask(policy, told->text, dialled->port, out);
}

void admission_deny(struct verdict *out, const char *remedy, const char *rule, ...)
{
	va_list ap;

	*out = (struct verdict){ .allowed = false };
	va_start(ap, rule);
	vsnprintf(out->rule, sizeof(out->rule), rule, ap);
	va_end(ap);
	snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
}

/*
 * Write to 'out' a rule that may be granted: the host alone if both 80 and 443 may be granted, else
 * the host with one port.  Returns false if no port may be granted.
 */
static bool find_offer(
	const struct policy *offered, const struct hostname *host, char out[HOSTNAME_PORT_MAX])
{
	struct hostname with_port = *host;
	uint16_t ports[OFFERS_MAX];
	struct verdict verdict;

	if (ask(offered, host->text, 80, &verdict) && ask(offered, host->text, 443, &verdict)) {
		snprintf(out, HOSTNAME_PORT_MAX, "%s", host->text);
		return true;
	}
	size_t n = verdict_ports(offered, ports, OFFERS_MAX);
	for (size_t i = 0; i < n && i < OFFERS_MAX; i++)
		if (ask(offered, host->text, ports[i], &verdict)) {
			hostname_set_port(&with_port, ports[i]);
			hostname_print(&with_port, out);
			return true;
		}
	return false;
}

void admission_propose(
	const struct policy *policy, const struct hostname *host, struct verdict *out)
{
	struct policy offered = *policy;
	char text[HOSTNAME_PORT_MAX];
	struct verdict verdict;
	bool found;

	offered.net.allowed = policy->net.grantable;
	if (!offered.net.allowed.n)
		return;
	/*
	 * If the policy allows the host, the reason for the denial is another one, such as the
	 * address.
	 */
	if (host->port)
		(void)ask(policy, host->text, host->port, &verdict);
	else
		verdict_name(policy, str_of(host->text), &verdict);
	if (verdict.allowed)
		return;
	if (host->port) {
		found = ask(&offered, host->text, host->port, &verdict);
		hostname_print(host, text);
	} else {
		found = find_offer(&offered, host, text);
	}
	if (found)
		snprintf(out->remedy, sizeof(out->remedy), "run 'strata ctl grant host=%s'", text);
}
