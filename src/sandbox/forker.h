/*
 * forker - a thread that forks processes without the Landlock domain of the rest of its process.
 *
 * A thread enters a domain for itself, and its forks inherit the domain.  The holder of a sandbox
 * may be in a domain that blocks abstract sockets (scope.h), and all its commands inherit that
 * domain.  But a command with a domain of its own must not be in another domain as well: see
 * landlock.h.  Such commands are forked by a thread that was started before the holder entered its
 * domain.  The kernel does not let a thread in a domain look at these commands, so this thread also
 * looks at them.
 *
 * The caller waits while the thread works, so the two never run at the same time.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

struct forker;

/* Start the thread.  It goes on until the process ends. */
struct forker *forker_start(struct err *err);

/*
 * Call fork_one(arg) in the thread.  Returns the result of fork_one.  If it forks, it never returns
 * in the child.
 */
pid_t forker_fork(struct forker *forker, pid_t (*fork_one)(void *arg), void *arg);
