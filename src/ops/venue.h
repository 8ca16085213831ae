/*
 * venue - where a tournament takes place: its number, its workspaces, its logs.
 *
 *	ROOT/work/tournament-7-2         the workspace of the second candidate of the seventh
 *	ROOT/log/tournament-7/           what its candidates said; of the last VENUE_LOGS_MAX
 *	ROOT/run/tournament-7.alive      locked while it lives
 *
 * A tournament that was killed leaves workspaces whose lock nobody holds: the next one, or
 * gc, removes them.  One that a person has given such a name is told by its reason.
 */
#pragma once
#include "ops/op.h"

#define VENUE_LOG_DIR "log"
#define VENUE_LOGS_MAX 20
#define VENUE_NAME_MAX 32

struct venue {
	char name[VENUE_NAME_MAX]; /* "tournament-7" */
	const char *reason;        /* of its workspaces; in the context's arena */
	int run;                   /* directory of the lock */
	int lock;
	int logs; /* its own directory */
};

#define VENUE_INIT                                                                                 \
	{                                                                                          \
		.run = -1, .lock = -1, .logs = -1                                                  \
	}

/* Take the next number, in an environment open with ENV_FORK; old logs go. */
int venue_open(struct op_context *ctx, struct venue *venue, struct err *err);
/* From now on a workspace that is left is nobody's.  Accepts one that was not opened. */
void venue_close(struct venue *venue);

/* The workspace of candidate i, counted from 1; in arena. */
const char *venue_workspace(const struct venue *venue, size_t i, struct arena *arena);
/* Path of the log of a candidate; in arena. */
const char *venue_log(const struct venue *venue, const struct env *env, const char *candidate,
	struct arena *arena);

/* Remove a workspace of a tournament, with its lock and socket, which nobody will use again. */
int venue_remove(struct op_context *ctx, const char *workspace, int wait_ms, struct err *err);
/* Remove what tournaments that are dead have left, with ENV_FORK or the store held alone. */
int venue_sweep(struct op_context *ctx, struct err *err);
