/*
 * proxy - the only way out of a captured network namespace (sandbox/netspace.h).
 *
 * The proxy answers all queries for names itself.  A name that the policy allows gets an address of
 * its own.  For other names, the answer is that they do not exist.  The proxy accepts connections
 * to every address, on the ports that the policy names, and finds the name that belongs to the
 * address.  If the policy allows that name and port, the proxy looks up the name outside the
 * namespace.  It connects to the first address that the policy allows and that answers.  Then it
 * copies bytes in both directions.  The first bytes of the program must fit the name: the server
 * name of TLS, or the Host header of a request to port 80, must be that name.
 *
 * With the variables of proxy_environment, programs can use the proxy as an HTTP or SOCKS5 proxy.
 *
 * One thread serves all connections and never blocks.  The caller polls proxy_fd, and calls
 * proxy_step when the descriptor is readable.  Only TCP is forwarded.
 */
#pragma once
#include "confine/denials.h"
#include "confine/resolver.h"
#include "core/err.h"
#include "policy/policy.h"
#include "sandbox/netspace.h"

#define PROXY_CONNECTIONS_MAX 1024 /* connections at a time; a further one waits until one ends */
#define PROXY_PORTS_MAX 1024       /* ports that the rules may name in all */
#define PROXY_HTTP_PORT 3128       /* if a rule names this port, one of the next ports is used */
#define PROXY_SOCKS_PORT 1080
#define PROXY_CONNECT_MS 20000 /* time to connect to the last address of a host */
#define PROXY_NEXT_MS 3000     /* time to connect to an address that is not the last */
/* Time in ms for a request to the proxy, or a query for a name, to arrive. */
#define PROXY_PATIENCE_MS 30000

/*
 * Options of a proxy.  A time that is 0 is replaced by its default: RESOLVER_DEADLINE_MS,
 * PROXY_CONNECT_MS or PROXY_PATIENCE_MS.
 */
struct proxy_options {
	lookup_fn *resolve; /* NULL: the machine's resolver */
	void *resolve_arg;
	int resolve_ms, connect_ms, patience_ms;
};

struct proxy;

/*
 * Returns a proxy that listens in the namespace 'space', or NULL on error.  The namespace must not
 * have any programs yet.  The policy, the namespace and the denials are borrowed for as long as the
 * proxy lives.  Names are looked up with the files of the machine that this process sees now, so
 * this process may enter a sandbox afterwards.
 */
struct proxy *proxy_new(const struct policy *policy, struct netspace *space,
	struct denials *denials, const struct proxy_options *options, struct err *err);
/* End all connections and free the proxy. */
void proxy_free(struct proxy *proxy);

/*
 * Returns a descriptor that is readable when proxy_step has work to do.  The descriptor belongs to
 * the proxy.
 */
int proxy_fd(const struct proxy *proxy);
/* Handle all events that are ready, without blocking. */
void proxy_step(struct proxy *proxy);

/*
 * Allow a host while programs run.  'rule' has the form of the rules in net.allowed_domains.
 * Returns ERR_BUSY if a program in the sandbox listens on the rule's port.
 */
int proxy_allow(struct proxy *proxy, const char *rule, struct err *err);
/*
 * Revoke a rule of proxy_allow.  Returns ERR_NOT_FOUND if there is no such rule.  Connections that
 * are no longer allowed end.
 */
int proxy_revoke(struct proxy *proxy, const char *rule, struct err *err);

/*
 * Returns the variables that make programs use the proxy, as NAME=VALUE.  The list ends with NULL
 * and belongs to the proxy.
 */
const char *const *proxy_environment(const struct proxy *proxy);
