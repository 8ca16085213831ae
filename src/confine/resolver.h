/*
 * resolver - the real addresses of names, found by processes that can be stopped.
 *
 * The resolver of the C library may wait for half a minute, and loads modules that the machine's
 * configuration names.  So each name is looked up in a process of its own, which has no descriptors
 * of ours and a deadline.  What was found is kept for a while.
 */
#pragma once
#include "confine/hostname.h"
#include "confine/poller.h"

#define RESOLVER_ADDRESSES_MAX 16
#define RESOLVER_NAMES_MAX 256   /* kept or being looked up */
#define RESOLVER_PROCESSES_MAX 8 /* at a time; other names wait */
#define RESOLVER_DEADLINE_MS 20000
#define RESOLVER_KEPT_MS 30000  /* as long as that, the addresses of a name hold */
#define RESOLVER_FAILED_MS 2000 /* and so long that it has none */

/*
 * Find the addresses of a name, at most max; the number of them.  It is called in a process of its
 * own.
 */
typedef size_t resolver_fn(void *arg, const char *name, union netspace_address *out, size_t max);
/* Uses the machine's resolver. */
resolver_fn resolver_system;

/* A caller that waits for a name; a member of its object.  found: n is 0 if there is no address. */
struct resolver_wait {
	void (*found)(void *arg, const union netspace_address *list, size_t n);
	void *arg;
	struct resolver_name *name; /* NULL: does not wait */
	struct resolver_wait *next;
};

struct resolver;

struct resolver *resolver_new(struct poller *poller, resolver_fn *find, void *arg, int deadline_ms);
/* Callers that wait are forgotten. */
void resolver_free(struct resolver *resolver);
/* Call found when the addresses are known, which may be before this returns. */
void resolver_ask(struct resolver *resolver, const char *name, struct resolver_wait *wait);
void resolver_cancel(struct resolver_wait *wait);
