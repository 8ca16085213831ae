/* ctl - call a method of a running owner and print the answer. */
#include "ops/requests.h"

static const struct param params[] = {
	PARAM(ctl_request, method, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the method to call; help lists them"),
	PARAM(ctl_request, pairs, TEXTS, PARAM_POSITIONAL, "its parameters, each as KEY=VALUE"),
	PARAM(ctl_request, lines, FLAG, 0, "print every line as it comes"),
	{ 0 },
};

static int call_owner(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	if (!ctx->owner)
		return err_set(err, ERR_UNSUPPORTED, "only the command line prints answers");
	return ctx->owner->call(ctx, request, err);
}

const struct op op_ctl = {
	.name = "ctl",
	.summary = "call a method of a running owner",
	.flags = OP_NO_ENV | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct ctl_request),
	.run = call_owner,
};
