/* branches - the nodes nothing derives from. */
#include "core/own.h"
#include "ops/requests.h"

static const struct op_param params[] = {
	{ NULL, 0, 0, 0, 0 },
};

static int list_tip(void *arg, const struct node *node, struct err *err)
{
	struct op_context *ctx = arg;
	owned(arena_release) struct arena arena = { 0 };
	struct common_node row;
	int r = common_node_row(ctx, &arena, node, &row, err);

	return r < 0 ? r : op_emit(ctx, &row, err);
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	return history_tips(&ctx->env->history, list_tip, ctx, err);
}

const struct op op_branches = {
	.name = "branches",
	.access = ENV_READ,
	.params = params,
	.rows = "branches",
	.run = run,
	.row_json = common_node_row_json,
};
