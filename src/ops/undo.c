/*
 * undo - go back along the journal of HEAD.
 *
 * Uncaptured work is the newest change there is: it is kept in a safety node,
 * and the first step back is to before it.
 */
#include "ops/requests.h"

static const struct op_param params[] = {
	{ "steps", 0, OP_COUNT, OP_POSITIONAL, offsetof(struct step_request, steps) },
	{ NULL, 0, 0, 0, 0 },
};

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct step_request *req = request;

	return common_step(ctx, req->steps ? -req->steps : -1, out, err);
}

const struct op op_undo = {
	.name = "undo",
	.flags = OP_WRITES,
	.access = ENV_REPLACE,
	.params = params,
	.request_size = sizeof(struct step_request),
	.result_size = sizeof(struct common_moved),
	.run = run,
	.result_json = common_moved_json,
};
