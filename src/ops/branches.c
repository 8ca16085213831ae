/* branches - the nodes nothing derives from. */
#include "core/own.h"
#include "ops/requests.h"

static int list_tip(void *arg, const struct node *node, struct err *err)
{
	struct op_context *ctx = arg;
	owned(arena_release) struct arena arena = { 0 };
	struct noderow row;
	int r = noderow_fill(ctx, &arena, node, &row, err);

	return r < 0 ? r : op_emit(ctx, &row, err);
}

static int do_branches(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	return history_tips(&ctx->env->history, list_tip, ctx, err);
}

const struct op op_branches = {
	.name = "branches",
	.summary = "the nodes nothing derives from",
	.access = ENV_READ,
	.rows = "branches",
	.row = "{" NODEROW_SHAPE "}",
	.run = do_branches,
	.row_json = noderow_json,
};
