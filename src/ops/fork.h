/* fork - make workspaces at a node, for fork and tournament. */
#pragma once
#include "ops/requests.h"

struct fork_plan {
	struct ref base; /* not the live tree */
	const struct fork_row *rows;
	size_t n;
	const char *reason; /* why the workspaces have their backend; shown beside it */
	bool passing;       /* the workspaces are soon removed and need not survive a crash */
	/*
	 * Called before each workspace is made.  If it returns true, fork_make fails with ERR_BUSY.
	 * May be NULL.
	 */
	bool (*stop)(void *arg);
	void *arg;
};

/* Resolve text (NULL: HEAD) to a node.  Fails for the live tree. */
int fork_base(struct op_context *ctx, const char *text, struct ref *base, struct err *err);
/*
 * Make the workspaces, in an environment open with ENV_FORK.  All of them are added to the database
 * in one transaction.  A failure before that leaves only live trees without a workspace.
 */
int fork_make(struct op_context *ctx, const struct fork_plan *plan, struct err *err);
