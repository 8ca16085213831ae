/* checkout - turn the live tree into a node, keeping uncaptured work in a safety node first. */
#include "ops/requests.h"
#include "ops/running.h"

static const struct op_param params[] = {
	{ "ref", 0, OP_TEXT, OP_REQUIRED | OP_POSITIONAL, offsetof(struct checkout_request, ref) },
	{ "live", 0, OP_FLAG, 0, offsetof(struct checkout_request, live) },
	{ NULL, 0, 0, 0, 0 },
};

static enum env_access access_for(const void *request)
{
	return ((const struct checkout_request *)request)->live ? ENV_RESTORE : ENV_REPLACE;
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct checkout_request *req = request;
	struct common_moved *moved = out;
	struct hash tree;
	struct ref ref;
	int r = env_resolve(ctx->env, req->ref, &ref, err);

	if (r >= 0 && ref.work)
		r = err_set(err, ERR_INVALID, "'work' is the live tree already");
	/* Resolved first: a wrong reference must not end anything or leave a safety node behind. */
	if (r >= 0)
		r = req->live ? running_show(ctx->env, err) : running_kill(ctx->env, err);
	if (r >= 0)
		r = common_save_work(ctx, moved, &tree, err);
	return r < 0 ? r : common_move(ctx, &tree, ref.id, moved, err);
}

const struct op op_checkout = {
	.name = "checkout",
	.flags = OP_WRITES,
	.access = ENV_REPLACE,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct checkout_request),
	.result_size = sizeof(struct common_moved),
	.run = run,
	.result_json = common_moved_json,
};
