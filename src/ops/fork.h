/*
 * fork - new workspaces at a node, for the operations that make some.
 */
#pragma once
#include "ops/requests.h"

struct fork_plan {
	struct ref base; /* no live tree */
	const struct fork_row *rows;
	size_t n;
	const char *reason; /* what is said of them beside their backend */
	bool passing;       /* gone before long: a crash of the machine may take them along */
	/* Asked before each of them: whether to give up, with ERR_BUSY.  NULL: never. */
	bool (*stop)(void *arg);
	void *arg;
};

/* The node text names (NULL: HEAD), which may not be the live tree. */
int fork_base(struct op_context *ctx, const char *text, struct ref *base, struct err *err);
/*
 * Make them, in an environment open with ENV_FORK.  They become known all at once; a
 * failure leaves only live trees nobody knows.
 */
int fork_make(struct op_context *ctx, const struct fork_plan *plan, struct err *err);
