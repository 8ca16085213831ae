/* proxy_priv - the members of a proxy, shared by the files that serve its connections. */
#pragma once
#include "confine/namepool.h"
#include "confine/poller.h"
#include "confine/proxy.h"
#include "confine/resolver.h"

#define PROXY_VARIABLES 6

/* The protocol by which a program names the host that it wants to connect to. */
enum proxy_service {
	PROXY_DIRECT, /* the program connects to the address itself */
	PROXY_HTTP,
	PROXY_SOCKS,
	PROXY_NAMES, /* the program sends queries for names */
};

struct proxy_listener {
	struct proxy *proxy;
	enum proxy_service service;
	uint16_t port;
	int fd;
	struct poller_event event;
	struct proxy_listener *next;
};

struct proxy {
	struct policy policy; /* the caller's policy and the granted rules */
	/*
	 * The list net.allowed of the member 'policy'.  The rules of the caller come first and are
	 * borrowed.  The granted rules come last and are owned.
	 */
	const char **rules;
	size_t n_given;         /* the number of rules from the caller's policy */
	struct netspace *space; /* borrowed */
	struct denials *denials;
	struct proxy_options options;
	struct poller *poller;
	struct resolver *resolver;
	struct namepool *pool;
	struct proxy_listener *listeners;
	bool accepts; /* the poller waits for connections at the listeners */
	struct poller_timer resume;
	int queries, attempts; /* sockets for UDP queries, and for reports of refused attempts */
	struct poller_event queries_event, attempts_event;
	struct connection *connections, *ended;
	size_t n_connections;
	uint16_t http_port, socks_port;
	char *environment[PROXY_VARIABLES + 1];
};

/* Whether the proxy accepts connections to this port, at every address. */
bool proxy_listens(const struct proxy *proxy, uint16_t port);
/*
 * Set *out to the host that a program means by an address: the name that the address stands for, or
 * else the address itself.
 */
void proxy_name_address(
	const struct proxy *proxy, const union netspace_address *address, struct hostname *out);
/* Add a denial for this host.  'what' is "connect" or "resolve". */
void proxy_deny(struct proxy *proxy, const char *what, const struct hostname *host,
	const struct verdict *verdict);
