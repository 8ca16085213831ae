/*
 * tournamentdir - the number of a tournament, and the files that are named after it.
 *
 *	ROOT/work/tournament-7-2      workspace of the second candidate of tournament 7
 *	ROOT/log/tournament-7/        output of its candidates
 *	ROOT/run/tournament-7.alive   locked while the tournament runs
 *
 * The logs of the last TOURNAMENTDIR_LOGS_MAX tournaments are kept.  A tournament that was killed
 * leaves its workspaces, but its lock is free.  The next tournament, or gc, removes these
 * workspaces.  A workspace that a user has made is kept, even if it has a name of this form,
 * because its reason in the database is not that of a tournament.
 */
#pragma once
#include "ops/op.h"

#define TOURNAMENTDIR_LOGS "log"
#define TOURNAMENTDIR_LOGS_MAX 20
#define TOURNAMENTDIR_NAME_MAX 32

struct tournamentdir {
	char name[TOURNAMENTDIR_NAME_MAX]; /* "tournament-7" */
	const char *reason; /* reason of the tournament's workspaces; in the context's arena */
	int run;            /* ROOT/run */
	int lock;
	int logs; /* ROOT/log/tournament-7 */
};

#define TOURNAMENTDIR_INIT ((struct tournamentdir){ .run = -1, .lock = -1, .logs = -1 })

/*
 * Take the next number and remove old logs.  The caller must have opened the environment with
 * ENV_FORK.
 */
int tournamentdir_open(struct op_context *ctx, struct tournamentdir *dir, struct err *err);
/*
 * Remove the lock, so that a sweep can remove workspaces that are left.  dir may be
 * TOURNAMENTDIR_INIT.
 */
void tournamentdir_close(struct tournamentdir *dir);

/* Returns the name of the workspace of candidate i, counted from 1, in arena. */
const char *tournamentdir_workspace(const struct tournamentdir *dir, size_t i, struct arena *arena);
/* Returns the path of the log of a candidate, in arena. */
const char *tournamentdir_log(const struct tournamentdir *dir, const struct env *env,
	const char *candidate, struct arena *arena);

/* Remove a workspace of a tournament with its lock and its sockets. */
int tournamentdir_remove(
	struct op_context *ctx, const char *workspace, int wait_ms, struct err *err);
/*
 * Remove the workspaces and files that killed tournaments have left.  The caller must have opened
 * the environment with ENV_FORK, or must be the only process that uses the store.
 */
int tournamentdir_sweep(struct op_context *ctx, struct err *err);
