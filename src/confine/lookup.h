/*
 * lookup - finds the addresses of names, as the process that starts it sees the machine.
 *
 * The resolver of the C library reads files of /etc, and runs modules that they name.  So it may
 * run only in the machine's own mounts, never in those that a sandboxed program can write to; a
 * process that enters a sandbox starts the keeper of its lookups before.  The resolver may also
 * wait for half a minute, so the keeper starts a process for each name, which has a deadline.  None
 * of them has descriptors of ours.
 */
#pragma once
#include <sys/types.h>

#include "confine/hostname.h"

#define LOOKUP_ADDRESSES_MAX 16

/*
 * Find the addresses of a name, at most max; the number of them.  It is called in a process of its
 * own.
 */
typedef size_t lookup_fn(void *arg, const char *name, union netspace_address *out, size_t max);
/* Uses the machine's resolver. */
lookup_fn lookup_system;

struct lookup_found {
	size_t n;
	union netspace_address list[LOOKUP_ADDRESSES_MAX];
};

struct lookup {
	pid_t keeper;
	int socket;
};

#define LOOKUP_INIT ((struct lookup){ .keeper = 0, .socket = -1 })

/* A process that does not answer within deadline_ms is killed. */
int lookup_start(
	struct lookup *lookup, lookup_fn *find, void *arg, int deadline_ms, struct err *err);
/* All processes end. */
void lookup_end(struct lookup *lookup);

/*
 * Returns a descriptor that belongs to the caller: a struct lookup_found arrives there in one
 * piece, or the end if the name could not be looked up.  -1 on failure.
 */
int lookup_ask(const struct lookup *lookup, const char *name);
/* What has arrived there: -1 with errno. */
int lookup_take(int fd, struct lookup_found *out);
