/* head - find the node that the live tree derives from. */
#include <string.h>

#include "ops/requests.h"

static int do_head(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct id_result *result = out;

	memcpy(result->id, ctx->env->row.head, sizeof(result->id));
	return 0;
}

static void result_json(struct json *out, const void *result)
{
	json_text(out, "id", ((const struct id_result *)result)->id);
}

const struct op op_head = {
	.name = "head",
	.summary = "print the id of HEAD",
	.advice = "HEAD is the node that the live tree was made from or saved to last.",
	.access = ENV_READ,
	.result_size = sizeof(struct id_result),
	.result = "id:text",
	.run = do_head,
	.result_json = result_json,
};
