/* fork - make workspaces at a node, for the operations 'fork' and 'tournament'. */
#pragma once
#include "ops/requests.h"

struct fork_plan {
	struct ref base; /* the node of the new workspaces; not the live tree */
	const struct fork_row *rows;
	size_t n;
	const char *reason; /* reason for the backend of the workspaces; shown beside the backend */
	bool passing; /* the workspaces will soon be removed, so they need not survive a crash */
	/*
	 * Called before each workspace is made.  If this function returns true, fork_make fails
	 * with ERR_BUSY.  May be NULL.
	 */
	bool (*stop)(void *arg);
	void *arg;
};

/* Resolve text (NULL: HEAD) to a node.  The live tree is refused. */
int fork_base(struct op_context *ctx, const char *text, struct ref *base, struct err *err);
/*
 * Make the workspaces.  The caller must have opened the environment with ENV_FORK.  All workspaces
 * are added to the database in one transaction.  A failure before this transaction leaves only live
 * trees without workspaces.
 */
int fork_make(struct op_context *ctx, const struct fork_plan *plan, struct err *err);
