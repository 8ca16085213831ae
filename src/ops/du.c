/* du - measure the disk space of each part of the environment. */
#include "ops/requests.h"

static int do_du(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	return usage_look(ctx->env, false, &((struct du_result *)out)->usage, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct usage *usage = &((const struct du_result *)result)->usage;

	usage_json(out, "disk", usage);
	json_uint(out, "total", usage_sum(usage));
	json_uint(out, "layers_limit", usage->layers_limit);
	json_uint(out, "unread", usage->unread);
}

const struct op op_du = {
	.name = "du",
	.summary = "what each part of the environment takes on disk",
	.access = ENV_LOOK,
	.result_size = sizeof(struct du_result),
	.result = "disk:" USAGE_SHAPE "total:int layers_limit:int unread:int",
	.run = do_du,
	.result_json = result_json,
};
