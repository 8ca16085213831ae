/* fork - make workspaces at a node, for fork and tournament. */
#pragma once
#include "ops/requests.h"

struct fork_plan {
	struct ref base; /* not the live tree */
	const struct fork_row *rows;
	size_t n;
	const char *reason; /* shown beside their backend */
	bool passing;       /* soon removed: they need not survive a crash of the machine */
	/* Called before each one: true gives up with ERR_BUSY.  NULL: never. */
	bool (*stop)(void *arg);
	void *arg;
};

/* Resolve text (NULL: HEAD) to a node; an error for the live tree. */
int fork_base(struct op_context *ctx, const char *text, struct ref *base, struct err *err);
/*
 * Make the workspaces, in an environment open with ENV_FORK.  They are added all at once; a
 * failure leaves only live trees without a workspace.
 */
int fork_make(struct op_context *ctx, const struct fork_plan *plan, struct err *err);
