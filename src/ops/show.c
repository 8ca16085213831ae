/* show - find all data of one node. */
#include "ops/requests.h"

static const struct param params[] = {
	PARAM(ref_request, ref, TEXT, PARAM_POSITIONAL, "the node; HEAD unless given"),
	{ 0 },
};

static int do_show(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct ref_request *req = request;
	struct show_result *result = out;
	struct node *node = arena_alloc(ctx->arena, sizeof(*node));
	struct ref ref;
	int r = env_resolve(ctx->env, req->ref ? req->ref : "HEAD", &ref, err);

	if (r >= 0 && ref.work) {
		err_set(err, ERR_INVALID, "'work' is no node yet");
		return err_hint(err, "see 'strata status', or 'strata diff HEAD'");
	}
	if (r >= 0)
		r = history_get(&ctx->env->history, ref.id, ctx->arena, node, err);
	if (r == 0)
		r = err_set(err, ERR_NOT_FOUND, "no node %s", ref.id);
	if (r >= 0)
		r = noderow_fill(ctx, ctx->arena, node, &result->node, err);
	return r < 0 ? r : nodetrace_get(ctx->env, node->id, ctx->arena, &result->trace, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct show_result *res = result;

	noderow_json(out, &res->node);
	nodetrace_json(out, &res->trace);
}

const struct op op_show = {
	.name = "show",
	.summary = "everything about one node",
	.advice = "Tells which command made the node and which paths it changed.",
	.access = ENV_READ,
	.params = params,
	.request_size = sizeof(struct ref_request),
	.result_size = sizeof(struct show_result),
	.result = NODEROW_SHAPE NODETRACE_SHAPE,
	.run = do_show,
	.result_json = result_json,
};
