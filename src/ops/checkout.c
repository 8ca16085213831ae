/* checkout - turn the live tree into a node, keeping uncaptured work in a safety node first. */
#include "ops/requests.h"
#include "ops/running.h"

static const struct op_param params[] = {
	{ "ref", 0, OP_TEXT, OP_POSITIONAL, offsetof(struct checkout_request, ref) },
	{ "abort", 0, OP_FLAG, 0, offsetof(struct checkout_request, abort) },
	{ "live", 0, OP_FLAG, 0, offsetof(struct checkout_request, live) },
	{ "no_safety", 0, OP_FLAG, 0, offsetof(struct checkout_request, no_safety) },
	{ NULL, 0, 0, 0, 0 },
};

static int check(const void *request, struct err *err)
{
	const struct checkout_request *req = request;

	if (!req->ref && !req->abort)
		return err_set(
			err, ERR_USAGE, "checkout: ref is missing (see 'strata help checkout')");
	if (req->abort && (req->ref || req->live || req->no_safety))
		return err_set(err, ERR_USAGE, "checkout: --abort stands alone");
	/* Programs would find their files gone for a while. */
	if (req->live && req->no_safety)
		return err_set(
			err, ERR_USAGE, "checkout: --live and --no-safety do not go together");
	return 0;
}

static enum env_access access_for(const void *request)
{
	const struct checkout_request *req = request;

	return req->abort ? ENV_ABORT : req->live ? ENV_RESTORE : ENV_REPLACE;
}

/* It was undone when the environment was opened. */
static int abort_checkout(struct op_context *ctx, struct common_moved *moved, struct err *err)
{
	moved->report = ctx->report;
	if (!ctx->env->interrupted)
		return err_set(err, ERR_INVALID, "no checkout was interrupted");
	return common_head(ctx, &moved->node, err);
}

/* Where there is no room left to write that down, what runs is ended without. */
static int end_running(struct op_context *ctx, bool no_safety, struct err *err)
{
	int r = running_roll_back(ctx->env, err);

	return r < 0 && no_safety && common_is_full(err) ? running_kill(ctx->env, err) : r;
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct checkout_request *req = request;
	struct common_moved *moved = out;
	struct hash tree;
	struct ref ref;

	if (req->abort)
		return abort_checkout(ctx, moved, err);
	int r = env_resolve(ctx->env, req->ref, &ref, err);

	if (r >= 0 && ref.work)
		r = err_set(err, ERR_INVALID, "'work' is the live tree already");
	/* Resolved first: a wrong reference must not end anything or leave a safety node behind. */
	if (r >= 0)
		r = req->live ? running_show(ctx->env, err) : end_running(ctx, req->no_safety, err);
	if (r >= 0)
		r = req->no_safety ? common_drop_work(ctx, ref.id, moved, &tree, err)
				   : common_save_work(ctx, moved, &tree, err);
	return r < 0 ? r : common_move(ctx, &tree, ref.id, moved, err);
}

const struct op op_checkout = {
	.name = "checkout",
	.flags = OP_WRITES,
	.access = ENV_REPLACE,
	.check = check,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct checkout_request),
	.result_size = sizeof(struct common_moved),
	.run = run,
	.result_json = common_moved_json,
};
