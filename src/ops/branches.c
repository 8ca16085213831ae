/* branches - list the nodes from which no other node derives. */
#include "ops/requests.h"

static int do_branches(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	return history_tips(&ctx->env->history, noderow_emit, ctx, err);
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
