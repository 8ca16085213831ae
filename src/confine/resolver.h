/*
 * resolver - finds the real addresses of names, without blocking.
 *
 * Other processes look up the names (lookup.h).  They use the mounts and the network that the
 * caller of resolver_new had at the time of that call.  The addresses are kept for a while.
 */
#pragma once
#include "confine/lookup.h"
#include "confine/poller.h"

#define RESOLVER_NAMES_MAX 256   /* names that are kept or being looked up */
#define RESOLVER_PROCESSES_MAX 8 /* lookups at a time; further names wait */
#define RESOLVER_DEADLINE_MS 20000
#define RESOLVER_KEPT_MS 30000  /* time for which the addresses of a name are kept */
#define RESOLVER_FAILED_MS 2000 /* time for which the failure of a lookup is kept */

/*
 * A caller that waits for a name.  The caller has this struct as a member of an object of its own.
 * The function 'found' gets n addresses; n is 0 if the name has none.
 */
struct resolver_wait {
	void (*found)(void *arg, const union netspace_address *list, size_t n);
	void *arg;
	struct resolver_name *name; /* NULL if the caller does not wait */
	struct resolver_wait *next;
};

struct resolver;

/* Returns a resolver, or NULL on error.  The poller is borrowed. */
struct resolver *resolver_new(
	struct poller *poller, lookup_fn *find, void *arg, int deadline_ms, struct err *err);
/* Free the resolver.  Callers that still wait are not called. */
void resolver_free(struct resolver *resolver);
/* Call wait->found when the addresses are known.  This may happen before resolver_ask returns. */
void resolver_ask(struct resolver *resolver, const char *name, struct resolver_wait *wait);
void resolver_cancel(struct resolver_wait *wait);
/* As lookup_hold. */
void resolver_hold(const struct resolver *resolver, int fd);
