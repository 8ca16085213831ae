/* verdict_fixture - answers the proxy's questions to a policy in the simplest way. */
#pragma once
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/verdict.h"

static bool rule_has_port(const char *rule, const char **colon)
{
	*colon = strrchr(rule, ':');
	return *colon && !strchr(*colon, ']');
}

static bool rule_matches(const char *rule, struct str host, int port)
{
	const char *colon;
	bool has_port = rule_has_port(rule, &colon);
	size_t len = has_port ? (size_t)(colon - rule) : strlen(rule);
	int wanted = has_port ? atoi(colon + 1) : 0;

	if (port >= 0 && (has_port ? port != wanted : port != 80 && port != 443))
		return false;
	if (rule[0] == '[') {
		rule++;
		len -= 2;
	}
	if (!strncmp(rule, "*.", 2))
		return host.len > len - 1 &&
		       !memcmp(host.ptr + host.len - (len - 1), rule + 1, len - 1);
	return host.len == len && !memcmp(host.ptr, rule, len);
}

static void ask_rules(const struct policy *policy, struct str host, int port, struct verdict *out)
{
	*out = (struct verdict){ .allowed = false };
	for (size_t i = 0; i < policy->net.allowed.n && !out->allowed; i++)
		if (rule_matches(policy->net.allowed.list[i], host, port))
			out->allowed = true;
	snprintf(out->rule, sizeof(out->rule), "net.allowed_domains");
	if (!out->allowed)
		snprintf(out->remedy, sizeof(out->remedy), "add %.*s to net.allowed_domains",
			(int)host.len, host.ptr);
}

void verdict_host(const struct policy *policy, struct str host, uint16_t port, struct verdict *out)
{
	ask_rules(policy, host, port, out);
}

void verdict_name(const struct policy *policy, struct str name, struct verdict *out)
{
	ask_rules(policy, name, -1, out);
}

void verdict_address(const struct policy *policy, const struct sockaddr *address, uint16_t port,
	struct verdict *out)
{
	char text[INET6_ADDRSTRLEN];
	const bool v6 = address->sa_family == AF_INET6;

	inet_ntop(address->sa_family,
		v6 ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
		   : (const void *)&((const struct sockaddr_in *)address)->sin_addr,
		text, sizeof(text));
	ask_rules(policy, str_of(text), port, out);
	const bool loopback = !strncmp(text, "127.", 4) || !strcmp(text, "::1");
	if (!out->allowed && loopback)
		ask_rules(policy, STR("localhost"), port, out);
	if (!out->allowed && !loopback && strncmp(text, "10.", 3) != 0)
		out->allowed = true;
	if (!out->allowed)
		snprintf(out->rule, sizeof(out->rule), "net: %s is a private address", text);
}

size_t verdict_ports(const struct policy *policy, uint16_t *ports, size_t max)
{
	size_t n = 0;

	if (max >= 2) {
		ports[n++] = 80;
		ports[n++] = 443;
	}
	for (size_t i = 0; i < policy->net.allowed.n && n < max; i++) {
		const char *colon;

		if (rule_has_port(policy->net.allowed.list[i], &colon))
			ports[n++] = (uint16_t)atoi(colon + 1);
	}
	return n;
}
