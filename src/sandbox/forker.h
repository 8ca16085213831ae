/*
 * forker - a thread that forks processes without the Landlock domain of the rest of its process.
 *
 * When a thread enters a domain, only that thread and the processes that it forks are in the
 * domain.  The holder of a sandbox may be in a domain that blocks abstract sockets (scope.h), and
 * all its commands inherit that domain.  But a command with a domain of its own must not be in
 * another domain as well: see landlock.h.  Such commands are forked by a thread that was started
 * before the holder entered its domain.  The kernel does not let a thread in a domain inspect these
 * commands in /proc, so the forking thread also inspects them.
 *
 * The caller waits while the thread works, so the caller and the thread never run at the same time.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

struct forker;

/* Start the thread.  It goes on until the process ends. */
struct forker *forker_start(struct err *err);

/*
 * Call fork_one(arg) in the thread, and return its result.  If fork_one forks, it must not return
 * in the child.
 */
pid_t forker_fork(struct forker *forker, pid_t (*fork_one)(void *arg), void *arg);
