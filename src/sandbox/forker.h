/*
 * forker - a thread that forks processes without the Landlock domain of the rest of its process.
 *
 * A domain is inherited by fork, and holds for the thread that entered it.  The holder of a sandbox
 * may be in a domain that keeps abstract sockets out (scope.h), which all its commands share.  But
 * a command with a domain of its own must not be in another domain as well: see landlock.h.  Such
 * commands are forked by a thread that was started before the holder entered its domain.  That
thread also does what the kernel refuses to a thread in a domain, such as to look at these commands.
 *
 * The caller waits while the thread works, so the two never run at the same time.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

struct forker;

/* Start the thread, which goes on until the process ends. */
struct forker *forker_start(struct err *err);

/*
 * Call fork_one(arg) in the thread.  Returns the result of fork_one.  If it forks, it never returns
 * in the child.
 */
pid_t forker_fork(struct forker *forker, pid_t (*fork_one)(void *arg), void *arg);
