/*
 * resolver - finds the real addresses of names, without blocking.
 *
 * Names are looked up by other processes (lookup.h), in the mounts and the network where this
 * process is when it calls resolver_new.  What they find is kept for a while.
 */
#pragma once
#include "confine/lookup.h"
#include "confine/poller.h"

#define RESOLVER_NAMES_MAX 256   /* names that are kept or being looked up */
#define RESOLVER_PROCESSES_MAX 8 /* at a time; other names wait */
#define RESOLVER_DEADLINE_MS 20000
#define RESOLVER_KEPT_MS 30000  /* time for which the addresses of a name are kept */
#define RESOLVER_FAILED_MS 2000 /* time for which it is kept that a name has none */

/*
 * A caller that waits for a name, as a member of the caller's object.  found is called with n 0 if
 * there is no address.
 */
struct resolver_wait {
	void (*found)(void *arg, const union netspace_address *list, size_t n);
	void *arg;
	struct resolver_name *name; /* NULL: the caller does not wait */
	struct resolver_wait *next;
};

struct resolver;

/* NULL on error. */
struct resolver *resolver_new(
	struct poller *poller, lookup_fn *find, void *arg, int deadline_ms, struct err *err);
/* Free the resolver.  It forgets callers that wait. */
void resolver_free(struct resolver *resolver);
/* Call found when the addresses are known, which may be before this returns. */
void resolver_ask(struct resolver *resolver, const char *name, struct resolver_wait *wait);
void resolver_cancel(struct resolver_wait *wait);
