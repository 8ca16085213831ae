/*
 * lookup - finds the addresses of names, with the files that the process sees that starts it.
 *
 * The resolver of the C library reads files of /etc, and runs modules that they name.  So it may
 * run only in the machine's own mounts, never in mounts that a sandboxed program can write to.  A
 * process that enters a sandbox starts the keeper of its lookups before that.  The resolver may
 * also wait for half a minute, so the keeper starts a process with a deadline for each name.  None
 * of these processes has descriptors of ours.
 */
#pragma once
#include <sys/types.h>

#include "confine/hostname.h"

#define LOOKUP_ADDRESSES_MAX 16

/*
 * Find at most max addresses of a name.  Returns their number.  It is called in a process of its
 * own.
 */
typedef size_t lookup_fn(void *arg, const char *name, union netspace_address *out, size_t max);
/* A lookup_fn that uses the machine's resolver. */
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

/* Start the keeper.  A process that does not find a name within deadline_ms is killed. */
int lookup_start(
	struct lookup *lookup, lookup_fn *find, void *arg, int deadline_ms, struct err *err);
/* End the keeper. */
void lookup_end(struct lookup *lookup);

/*
 * Ask for a name.  Returns a descriptor that belongs to the caller, or -1 on failure.  A struct
 * lookup_found arrives there in one piece, or the end of file if the name could not be looked up.
 */
int lookup_ask(const struct lookup *lookup, const char *name);
/* Read what has arrived at the descriptor of lookup_ask.  Returns -1 with errno on failure. */
int lookup_take(int fd, struct lookup_found *out);
