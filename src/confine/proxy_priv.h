/* proxy_priv - the parts of a proxy, shared by the files that serve it. */
#pragma once
#include "confine/namepool.h"
#include "confine/poller.h"
#include "confine/proxy.h"
#include "confine/resolver.h"

#define PROXY_VARIABLES 6

/* How a program tells us where it wants to connect to. */
enum proxy_service {
	PROXY_DIRECT, /* it connects to the address itself */
	PROXY_HTTP,
	PROXY_SOCKS,
	PROXY_NAMES, /* it does not connect, but sends queries for names */
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
	struct policy policy;   /* the caller's policy and the granted rules */
	const char **rules;     /* net.allowed of policy; granted rules come last, and are owned */
	size_t n_given;         /* rules of the caller's policy; the others are granted */
	struct netspace *space; /* borrowed, like denials */
	struct denials *denials;
	struct proxy_options options;
	struct poller *poller;
	struct resolver *resolver;
	struct namepool *pool;
	struct proxy_listener *listeners;
	bool accepts; /* we wait for connections at the listeners */
	struct poller_timer resume;
	int queries, attempts; /* sockets */
	struct poller_event queries_event, attempts_event;
	struct connection *connections, *ended;
	size_t n_connections;
	uint16_t http_port, socks_port;
	char *environment[PROXY_VARIABLES + 1];
};

/* Whether the proxy accepts connections to this port of any address. */
bool proxy_listens(const struct proxy *proxy, uint16_t port);
/* Find the host that a program means by an address. */
void proxy_name_address(
	const struct proxy *proxy, const union netspace_address *address, struct hostname *out);
/* Note a denial. */
void proxy_deny(struct proxy *proxy, const char *what, const struct hostname *host,
	const struct verdict *verdict);
