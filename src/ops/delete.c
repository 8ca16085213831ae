/*
 * delete - remove a node from the history.  The children of the node become children of its parent.
 */
#include <string.h>

#include "ops/requests.h"

static const struct param params[] = {
	PARAM(ref_request, ref, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the node: an id, a tag, HEAD, HEAD~2, a time"),
	{ 0 },
};

static int do_delete(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct ref_request *req = request;
	struct id_result *result = out;
	struct ref ref;
	int r = env_resolve(ctx->env, req->ref, &ref, err);

	if (r >= 0 && ref.work)
		r = err_set(err, ERR_INVALID, "'work' is no node");
	if (r >= 0)
		r = history_delete(&ctx->env->history, ref.id, err);
	if (r >= 0)
		memcpy(result->id, ref.id, sizeof(result->id));
	return r;
}

static void result_json(struct json *out, const void *result)
{
	json_text(out, "deleted", ((const struct id_result *)result)->id);
}

const struct op op_delete = {
	.name = "delete",
	.summary = "take a node out of the history",
	.advice = "Removes a node for good. The nodes made from it stay.",
	.flags = OP_WRITES | OP_DESTROYS,
	.access = ENV_STORE,
	.params = params,
	.request_size = sizeof(struct ref_request),
	.result_size = sizeof(struct id_result),
	.result = "deleted:text",
	.run = do_delete,
	.result_json = result_json,
};
