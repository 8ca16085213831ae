#include "confine/admission.h"

#include <stdarg.h>
#include <stdio.h>

#define LOCALHOST "localhost"

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
