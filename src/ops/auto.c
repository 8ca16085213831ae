/*
 * auto - make a node of the kind NODE_AUTO, when the owner of a workspace has seen a change.
 * Not in the table, because only owners use it.
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
	struct str *command = arena_alloc(ctx->arena, (req->command.count + 1) * sizeof(*command));
	struct newnode commit = {
		.kind = NODE_AUTO,
		.op = "auto",
		.command = command,
		.n_command = req->command.count,
	};
	struct node *node = arena_alloc(ctx->arena, sizeof(*node));

	for (size_t i = 0; i < req->command.count; i++)
		command[i] = str_of(req->command.list[i]);
	int r = req->end ? running_kill(ctx->env, err) : 0;
	if (r >= 0)
		r = newnode_commit(ctx, &commit, node, &result->made, err);
	if (r < 0)
		return r;
	result->report = ctx->report;
	return noderow_fill(ctx, ctx->arena, node, &result->node, err);
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
