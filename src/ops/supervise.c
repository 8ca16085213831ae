/* supervise - own a workspace and run an agent in it. */
#include "ops/supervise.h"

#include "ops/confined.h"
#include "ops/exec.h"

static const struct param params[] = {
	EXEC_PLACE_PARAMS(supervise_request),
	PARAM(supervise_request, keep, COUNT, 0, "the last nodes to keep whatever their age"),
	PARAM(supervise_request, max_bytes, BYTES, 0,
		"thin out further until the store is below this size"),
	PARAM(supervise_request, argv, TEXTS, PARAM_REQUIRED | PARAM_AFTER_DASHES,
		"the agent and its arguments"),
	{ 0 },
};

int supervise_run(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	struct supervise_request req = *(const struct supervise_request *)request;

	if (!ctx->owner)
		return err_set(err, ERR_UNSUPPORTED, "only the command line can own a workspace");
	if (confined_ready(&req.place, ctx->arena, err) < 0)
		return -(int)err->code;
	return ctx->owner->own(ctx, &req, &((struct supervise_result *)result)->status, err);
}

const struct op op_supervise = {
	.name = "supervise",
	.summary = "run an agent; keep every change by itself; roll back and go on",
	.flags = OP_NO_ENV | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct supervise_request),
	.result_size = sizeof(struct supervise_result),
	.run = supervise_run,
};
