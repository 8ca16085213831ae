/*
 * freezer - stops all processes of a PID namespace but its first process.  Only the first process
 * may call these functions.
 *
 * With a cgroup, the kernel freezes the processes.  Otherwise all processes get SIGSTOP, and the
 * freezer waits until every thread has stopped.  A process that was stopped before freezer_stop
 * stays stopped when the others continue.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"
#include "sandbox/cgroup.h"

#define FREEZER_WAIT_MS 2000 /* time until all processes must have stopped */

struct freezer_stopped;

struct freezer {
	int proc; /* /proc of the namespace, borrowed; -1: there is none */
	struct cgroup cgroup;
	bool strayed; /* a process is not in the cgroup, so the cgroup cannot be used */
	bool frozen, by_cgroup;
	struct freezer_stopped *before; /* processes that were stopped already */
	size_t n_before, cap_before;
};

/*
 * Stop all processes.  If one of them does not stop, all continue, and the message of ERR_LIMIT
 * names that process.
 */
int freezer_stop(struct freezer *freezer, struct err *err);
void freezer_continue(struct freezer *freezer);

/* Returns the number of processes besides this one.  Zombies are not counted. */
int freezer_count(struct freezer *freezer, struct err *err);
/* Send SIGKILL to every process of a session until none is left. */
int freezer_kill_session(struct freezer *freezer, pid_t session, struct err *err);
