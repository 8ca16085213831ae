/*
 * lookup - finds the addresses of names, with the files of /etc in the caller's mounts.
 *
 * The resolver of the C library reads files of /etc, and runs modules that these files name.  So
 * the resolver must run only in the machine's own mounts, never in mounts that a sandboxed program
 * can write to.  Before a process enters a sandbox, it therefore starts a second process, the
 * keeper, which stays outside.  The resolver may block for half a minute, so the keeper starts a
 * process with a deadline for each name.  None of these processes inherits descriptors of the
 * caller.
 */
#pragma once
#include <sys/types.h>

#include "confine/hostname.h"

#define LOOKUP_ADDRESSES_MAX 16

/*
 * Finds at most 'max' addresses of a name.  Returns their number.  Such a function is called in a
 * process of its own.
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

/*
 * Start the keeper.  A process that has not found the addresses of a name after deadline_ms is
 * killed.
 */
int lookup_start(
	struct lookup *lookup, lookup_fn *find, void *arg, int deadline_ms, struct err *err);
/* End the keeper. */
void lookup_end(struct lookup *lookup);

/*
 * Ask the keeper for the addresses of a name.  Returns a descriptor that the caller closes, or -1
 * on failure.  From this descriptor, lookup_take reads the addresses, or the end of file if the
 * name could not be looked up.
 */
int lookup_ask(const struct lookup *lookup, const char *name);
/*
 * Let the keeper hold a copy of a descriptor until the keeper ends.  Then the end of this process
 * does not have to wait until the kernel has freed the file.
 */
void lookup_hold(const struct lookup *lookup, int fd);
/*
 * Read the addresses that have arrived at the descriptor of lookup_ask.  Returns -1 with errno on
 * failure.
 */
int lookup_take(int fd, struct lookup_found *out);
