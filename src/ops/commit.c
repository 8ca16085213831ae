/* commit - snapshot the live tree now. */
#include "ops/newnode.h"
#include "ops/requests.h"
#include "ops/shape.h"

static const struct param params[] = {
	PARAM(commit_request, message, TEXT, 0, "what the node is described with", .letter = 'm'),
	PARAM(commit_request, allow_empty, FLAG, 0, "make a node also where nothing changed"),
	{ 0 },
};

static int do_commit(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct commit_request *req = request;
	struct commit_result *result = out;
	struct newnode commit = {
		.kind = NODE_MANUAL,
		.message = req->message,
		.allow_empty = req->allow_empty,
		.op = NODE_COMMIT_LABEL,
	};

	result->report = ctx->report;
	return newnode_commit_row(ctx, &commit, &result->node, &result->made, err);
}

void commit_result_json(struct json *out, const void *result)
{
	const struct commit_result *res = result;

	json_bool(out, "made", res->made);
	noderow_json(out, &res->node);
	shape_report(out, res->report);
}

const struct op op_commit = {
	.name = "commit",
	.summary = "record the live tree as a new node",
	.advice = "Makes a node of the live tree now. If nothing has changed, no node is "
		  "made.",
	.flags = OP_WRITES | OP_ADDS,
	.access = ENV_WRITE,
	.params = params,
	.request_size = sizeof(struct commit_request),
	.result_size = sizeof(struct commit_result),
	.result = "made:bool " NODEROW_SHAPE SHAPE_REPORT,
	.run = do_commit,
	.result_json = commit_result_json,
};
