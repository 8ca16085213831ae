/*
 * proxy - the only way out of a captured network namespace (sandbox/netspace.h).
 *
 * It answers all queries for names itself: a name that the policy allows gets an address that
 * stands for it, and other names do not exist.  It accepts connections to the ports that the policy
 * names, of any address, and finds out the name that the program meant.  If the policy allows that
 * host and port, it looks the name up outside, and connects to the first address that the policy
 * allows and that answers.  Then it copies bytes in both directions.  The first bytes of the
 * program have to fit: the server name of TLS, and the Host header of requests to port 80, must be
 * that name.
 *
 * Programs that honour the variables of proxy_environment can use it as a proxy of HTTP or SOCKS5.
 *
 * One thread serves all connections and never waits: the caller polls proxy_fd, and calls
 * proxy_step when it is readable.  Nothing is forwarded but TCP.
 */
#pragma once
#include "confine/denials.h"
#include "confine/resolver.h"
#include "core/err.h"
#include "policy/policy.h"
#include "sandbox/netspace.h"

#define PROXY_CONNECTIONS_MAX 1024 /* further connections wait until others end */
#define PROXY_PORTS_MAX 1024       /* ports that rules may name */
#define PROXY_HTTP_PORT 3128       /* or one of the next ports, if a rule names this one */
#define PROXY_SOCKS_PORT 1080
#define PROXY_CONNECT_MS 20000  /* time to connect to the last address of a host */
#define PROXY_NEXT_MS 3000      /* time to connect to an address that others follow */
#define PROXY_PATIENCE_MS 30000 /* time for a request to a proxy, or a query, to arrive */

/* Members that are 0 stand for the values above. */
struct proxy_options {
	lookup_fn *resolve; /* NULL: the machine's resolver */
	void *resolve_arg;
	int resolve_ms, connect_ms, patience_ms;
};

struct proxy;

/*
 * Make a proxy that listens in space, where no program runs yet.  The policy, space and denials are
 * borrowed for as long as the proxy lives.  Names are looked up with the files that this process
 * sees now, which are the machine's; it may enter a sandbox afterwards.  NULL on error.
 */
struct proxy *proxy_new(const struct policy *policy, struct netspace *space,
	struct denials *denials, const struct proxy_options *options, struct err *err);
/* End all connections and free the proxy. */
void proxy_free(struct proxy *proxy);

/* Returns a descriptor that is readable when there is something to do. */
int proxy_fd(const struct proxy *proxy);
/* Do what there is to do, without blocking. */
void proxy_step(struct proxy *proxy);

/*
 * Allow a host while programs run, by a rule as in net.allowed_domains that policy_read would
 * accept.  ERR_BUSY if a program inside listens on its port.
 */
int proxy_allow(struct proxy *proxy, const char *rule, struct err *err);
/*
 * Revoke what proxy_allow has allowed; ERR_NOT_FOUND if it was not.  Connections that are no longer
 * allowed end.
 */
int proxy_revoke(struct proxy *proxy, const char *rule, struct err *err);

/*
 * Returns the variables, as NAME=VALUE, that tell programs to use the proxy.  The list ends with
 * NULL and belongs to the proxy.
 */
const char *const *proxy_environment(const struct proxy *proxy);
