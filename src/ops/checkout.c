/*
 * checkout - give the live tree the state of a node.  Work that is not in any node is first saved
 * in a safety node.
 */
#include "ops/requests.h"
#include "ops/running.h"

static const struct param params[] = {
	PARAM(checkout_request, ref, TEXT, PARAM_POSITIONAL,
		"the node to make the live tree equal to"),
	PARAM(checkout_request, abort, FLAG, 0, "undo a checkout or restore that was interrupted"),
	PARAM(checkout_request, live, FLAG, 0,
		"kill nothing: the live tree changes under the programs that run in it"),
	PARAM(checkout_request, no_safety, FLAG, 0, "give up work that no node holds"),
	{ 0 },
};

static int check_checkout(const void *request, struct err *err)
{
	const struct checkout_request *req = request;

	if (!req->ref && !req->abort)
		return err_set(
			err, ERR_USAGE, "checkout: ref is missing (see 'strata help checkout')");
	if (req->abort && (req->ref || req->live || req->no_safety))
		return err_set(err, ERR_USAGE, "checkout: --abort stands alone");
	/*
	 * With --no-safety, changed files are removed before the files of the node are written.
	 * Running programs would not find these files in the meantime.
	 */
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

static bool gives_room_back(const void *request)
{
	const struct checkout_request *req = request;

	return req->no_safety || req->abort;
}

/*
 * Complete 'checkout --abort'.  The checkout itself was already undone by recovery_run, when the
 * environment was opened.
 */
static int abort_checkout(struct op_context *ctx, struct movement *moved, struct err *err)
{
	moved->report = ctx->report;
	if (!ctx->env->interrupted)
		return err_set(err, ERR_INVALID, "no checkout was interrupted");
	return env_head(ctx->env, ctx->arena, &moved->node, err);
}

/*
 * Record a rollback and kill the running programs.  Recording may fail on a full disk.  With
 * --no-safety the programs are killed even then.
 */
static int end_running(struct op_context *ctx, bool no_safety, struct err *err)
{
	int r = running_roll_back(ctx->env, err);

	return r < 0 && no_safety && err_is_full(err) ? running_kill(ctx->env, err) : r;
}

static int do_checkout(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct checkout_request *req = request;
	struct movement *moved = out;
	struct hash tree;
	struct ref ref;

	if (req->abort)
		return abort_checkout(ctx, moved, err);
	int r = env_resolve(ctx->env, req->ref, &ref, err);

	if (r >= 0 && ref.work)
		r = err_set(err, ERR_INVALID, "'work' is the live tree already");
	/*
	 * Resolve the reference before any program is ended, so that a wrong reference ends no
	 * program.
	 */
	if (r >= 0)
		r = req->live ? running_show(ctx->env, err) : end_running(ctx, req->no_safety, err);
	if (r >= 0)
		r = req->no_safety ? movement_drop_work(ctx, ref.id, moved, &tree, err)
				   : movement_save_work(ctx, moved, &tree, err);
	return r < 0 ? r : movement_to(ctx, &tree, ref.id, moved, err);
}

const struct op op_checkout = {
	.name = "checkout",
	.summary = "turn the live tree into a node",
	.advice = "Turns the live tree into the node that 'ref' names. Work that no node "
		  "has yet is saved as a node first. Running programs are killed, unless "
		  "'live' is set: then the files change under them. Call it with 'live' if "
		  "you run inside this environment.",
	.flags = OP_WRITES | OP_REPEATABLE,
	.access = ENV_REPLACE,
	.check = check_checkout,
	.access_for = access_for,
	.frees = gives_room_back,
	.params = params,
	.request_size = sizeof(struct checkout_request),
	.result_size = sizeof(struct movement),
	.result = MOVEMENT_SHAPE,
	.run = do_checkout,
	.result_json = movement_json,
};
