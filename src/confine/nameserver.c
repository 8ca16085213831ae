#include "confine/nameserver.h"

#include <errno.h>

#include "confine/admission.h"
#include "confine/dns.h"
#include "core/own.h"

#define PACKETS_MAX 64 /* packets answered before other events get their turn */

static void set_loopback(uint16_t type, union netspace_address *out)
{
	if (type == DNS_AAAA)
		*out = (union netspace_address){ .v6 = { .sin6_family = AF_INET6,
							 .sin6_addr = IN6ADDR_LOOPBACK_INIT } };
	else
		*out = (union netspace_address){
			.v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }
		};
}

/*
 * Whether a query is a reverse lookup.  Programs work without an answer to a reverse lookup, so a
 * refused reverse lookup does not count as a denial.
 */
static bool is_reverse(const char *name)
{
	const size_t len = strlen(name), last = sizeof(".arpa") - 1;

	return len >= last && !strcmp(name + len - last, ".arpa");
}

static bool may_know(struct proxy *proxy, const struct dns_query *query)
{
	struct hostname host = { .port = 0 };
	struct verdict verdict;

	if (is_reverse(query->name))
		return false;
	if (query->odd)
		admission_deny(&verdict, "ask for the name of a host",
			"net.allowed_domains: no host has such a name");
	else
		verdict_name(&proxy->policy, str_of(query->name), &verdict);
	if (!query->odd && verdict.allowed)
		return true;
	memcpy(host.text, query->name, sizeof(host.text));
	proxy_deny(proxy, "resolve", &host, &verdict);
	return false;
}

/* Answer a query.  A name that the policy allows has exactly one address, an IPv4 address. */
void nameserver_answer(struct proxy *proxy, struct str packet, struct buf *out)
{
	struct dns_query query;
	union netspace_address address;
	const enum dns_code code = dns_read(packet, &query);
	const bool local = hostname_is_localhost(query.name);

	if (code == DNS_NONE)
		return;
	if (code != DNS_OK) {
		dns_answer(out, &query, code, NULL);
	} else if (!local && !may_know(proxy, &query)) {
		dns_answer(out, &query, DNS_NO_NAME, NULL);
	} else if (local && (query.type == DNS_A || query.type == DNS_AAAA)) {
		set_loopback(query.type, &address);
		dns_answer(out, &query, DNS_OK, &address);
	} else if (!local && (query.type == DNS_A || query.type == DNS_ANY)) {
		namepool_give(proxy->pool, query.name, &address);
		dns_answer(out, &query, DNS_OK, &address);
	} else {
		dns_answer(out, &query, DNS_OK, NULL);
	}
}

void nameserver_serve(struct proxy *proxy)
{
	owned(buf_release) struct buf out = BUF_INIT;
	char packet[DNS_QUERY_MAX];

	for (int i = 0; i < PACKETS_MAX; i++) {
		struct netspace_packet parties = { .peer_len = 0 };
		ssize_t n = netspace_receive(proxy->queries, packet, sizeof(packet), &parties);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			continue;
		buf_clear(&out);
		nameserver_answer(proxy, (struct str){ packet, (size_t)n }, &out);
		if (out.len)
			netspace_answer(proxy->queries, out.data, out.len, &parties);
	}
}
