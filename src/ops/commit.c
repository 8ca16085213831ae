/* commit - snapshot the live tree now. */
#include "ops/requests.h"

static const struct op_param params[] = {
	{ "message", 'm', OP_TEXT, 0, offsetof(struct commit_request, message) },
	{ "allow_empty", 0, OP_FLAG, 0, offsetof(struct commit_request, allow_empty) },
	{ NULL, 0, 0, 0, 0 },
};

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct commit_request *req = request;
	struct commit_result *result = out;
	struct common_commit commit = {
		.kind = NODE_MANUAL,
		.message = req->message,
		.allow_empty = req->allow_empty,
		.op = NODE_COMMIT_LABEL,
	};
	struct node *node = arena_alloc(ctx->arena, sizeof(*node));
	int r = common_commit(ctx, &commit, node, &result->made, err);

	if (r < 0)
		return r;
	result->report = ctx->report;
	return common_node_row(ctx, ctx->arena, node, &result->node, err);
}

void commit_result_json(struct json *out, const void *result)
{
	const struct commit_result *res = result;

	json_bool(out, "made", res->made);
	common_node_json(out, &res->node);
	common_report_json(out, res->report);
}

const struct op op_commit = {
	.name = "commit",
	.flags = OP_WRITES,
	.access = ENV_WRITE,
	.params = params,
	.request_size = sizeof(struct commit_request),
	.result_size = sizeof(struct commit_result),
	.run = run,
	.result_json = commit_result_json,
};
