/*
 * resolver - the real addresses of names, without waiting for anybody.
 *
 * Names are looked up by other processes (lookup.h), in the mounts and the network that this one is
 * in when it calls resolver_new.  What was found is kept for a while.
 */
#pragma once
#include "confine/lookup.h"
#include "confine/poller.h"

#define RESOLVER_NAMES_MAX 256   /* kept or being looked up */
#define RESOLVER_PROCESSES_MAX 8 /* at a time; other names wait */
#define RESOLVER_DEADLINE_MS 20000
#define RESOLVER_KEPT_MS 30000  /* as long as that, the addresses of a name hold */
#define RESOLVER_FAILED_MS 2000 /* and so long that it has none */

/* A caller that waits for a name; a member of its object.  found: n is 0 if there is no address. */
struct resolver_wait {
	void (*found)(void *arg, const union netspace_address *list, size_t n);
	void *arg;
	struct resolver_name *name; /* NULL: does not wait */
	struct resolver_wait *next;
};

struct resolver;

/* NULL on error. */
struct resolver *resolver_new(
	struct poller *poller, lookup_fn *find, void *arg, int deadline_ms, struct err *err);
/* Callers that wait are forgotten. */
void resolver_free(struct resolver *resolver);
/* Call found when the addresses are known, which may be before this returns. */
void resolver_ask(struct resolver *resolver, const char *name, struct resolver_wait *wait);
void resolver_cancel(struct resolver_wait *wait);
