/* proxy_priv - the parts of a proxy, shared by the files that serve it. */
#pragma once
#include "confine/namepool.h"
#include "confine/poller.h"
#include "confine/proxy.h"
#include "confine/resolver.h"

#define PROXY_VARIABLES 6

/* How the program at the other end says where it wants to connect to. */
enum proxy_service {
	PROXY_DIRECT, /* it connects to the address itself */
	PROXY_HTTP,
	PROXY_SOCKS,
	PROXY_NAMES, /* nowhere: it has queries for names */
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
	struct policy policy;   /* that of the caller, with the granted rules */
	const char **rules;     /* net.allowed of policy; the granted ones are last, and ours */
	size_t n_given;         /* of rules, the others are granted */
	struct netspace *space; /* borrowed, as denials */
	struct denials *denials;
	struct proxy_options options;
	struct poller *poller;
	struct resolver *resolver;
	struct namepool *pool;
	struct proxy_listener *listeners;
	bool accepts; /* the listeners are being waited for */
	struct poller_timer resume;
	int queries, attempts; /* sockets */
	struct poller_event queries_event, attempts_event;
	struct connection *connections, *ended;
	size_t n_connections;
	uint16_t http_port, socks_port;
	char *environment[PROXY_VARIABLES + 1];
};

/* Whether connections to this port arrive here. */
bool proxy_listens(const struct proxy *proxy, uint16_t port);
/* The host that a program means by an address. */
void proxy_name_address(
	const struct proxy *proxy, const union netspace_address *address, struct hostname *out);
/* Note a denial. */
void proxy_deny(struct proxy *proxy, const char *what, const struct hostname *host,
	const struct verdict *verdict);
