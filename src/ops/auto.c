/*
 * auto - make a node of the kind NODE_AUTO.  The owner of a workspace runs this operation when the
 * live tree has changed.  The operation is not in the table of operations (table.c), because only
 * owners use it.
 */
#include "ops/newnode.h"
#include "ops/requests.h"

static const struct param params[] = {
	PARAM(auto_request, command, TEXTS, 0, "what was running"),
	{ 0 },
};

static int do_auto(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct auto_request *req = request;
	struct commit_result *result = out;
	struct newnode commit = { .kind = NODE_AUTO, .op = "auto", .command = req->command };
	int r = req->end ? running_kill(ctx->env, err) : 0;

	result->report = ctx->report;
	return r < 0 ? r : newnode_commit_row(ctx, &commit, &result->node, &result->made, err);
}

const struct op op_auto = {
	.name = "auto",
	.flags = OP_WRITES,
	.access = ENV_WRITE,
	.params = params,
	.request_size = sizeof(struct auto_request),
	.result_size = sizeof(struct commit_result),
	.run = do_auto,
	.result_json = commit_result_json,
};
