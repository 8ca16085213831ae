/*
 * freezer - stop every process of a PID namespace, from its first process.
 *
 * By the cgroup they are in, where there is one.  Else SIGSTOP to all, then looking
 * until every thread of every one has stopped; processes somebody else had stopped
 * before are remembered and stay so when the others go on.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"
#include "sandbox/cgroup.h"

#define FREEZER_WAIT_MS 2000 /* until all have stopped */

struct freezer_stopped;

struct freezer {
	int proc; /* the namespace's /proc, borrowed; -1: there is none */
	struct cgroup cgroup;
	bool strayed; /* somebody is not in the cgroup: do not rely on it */
	bool frozen, by_cgroup;
	struct freezer_stopped *before; /* those that were stopped already */
	size_t n_before, cap_before;
};

/* All stopped, or ERR_LIMIT naming one that would not; those that had stopped go on then. */
int freezer_stop(struct freezer *freezer, struct err *err);
void freezer_continue(struct freezer *freezer);

/* How many processes there are besides this one, dead ones not counted. */
int freezer_count(struct freezer *freezer, struct err *err);
/* SIGKILL for every process of a session, until none is left. */
int freezer_kill_session(struct freezer *freezer, pid_t session, struct err *err);
