/* restore - bring back single paths of a node into the live tree. */

#include "ops/refview.h"
#include "ops/requests.h"
#include "ops/running.h"
#include "ops/shape.h"
#include "tree/treegraft.h"

static const struct param params[] = {
	PARAM(restore_request, ref, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the node: an id, a tag, HEAD, HEAD~2, a time"),
	PARAM(restore_request, paths, TEXTS, PARAM_REQUIRED | PARAM_AFTER_DASHES,
		"the files and directories to take from it"),
	{ 0 },
};

static int graft_paths(struct op_context *ctx, const struct restore_request *req,
	const struct hash *source, struct hash *tree, struct err *err)
{
	for (size_t i = 0; i < req->paths.count; i++) {
		struct hash next;
		struct str path = refview_path(ctx, str_of(req->paths.list[i]));
		int r = treegraft_path(ctx->env->store, tree, source, path, &next, err);

		if (r < 0)
			return r;
		*tree = next;
	}
	return 0;
}

static int do_restore(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct restore_request *req = request;
	struct restore_result *result = out;
	struct env *env = ctx->env;
	struct hash source, live, wanted;
	struct movement saved = { 0 };
	struct ref ref;
	int r = env_resolve(env, req->ref, &ref, err);

	result->report = ctx->report;
	for (size_t i = 0; i < req->paths.count; i++)
		if (!*req->paths.list[i])
			return err_set(
				err, ERR_USAGE, "restore: a path is empty (the whole tree is '.')");
	if (r >= 0 && ref.work)
		r = err_set(err, ERR_INVALID, "'work' is the live tree itself");
	if (r >= 0)
		r = env_tree(env, &ref, &source, err);
	if (r >= 0)
		r = running_show(env, err);
	/* First save the work that the restore would overwrite, as 'checkout' does. */
	if (r >= 0)
		r = movement_save_work(ctx, &saved, &live, err);
	if (r < 0)
		return r;
	wanted = live;
	r = graft_paths(ctx, req, &source, &wanted, err);
	return r < 0 ? r : movement_patch(ctx, &live, &wanted, &result->changes, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct restore_result *res = result;

	json_open(out, "changes", '{');
	json_uint(out, "added", res->changes.added);
	json_uint(out, "modified", res->changes.modified);
	json_uint(out, "deleted", res->changes.deleted);
	json_close(out);
	shape_report(out, res->report);
}

const struct op op_restore = {
	.name = "restore",
	.summary = "bring back single paths of a node",
	.advice = "Brings back only these paths; HEAD does not move. Use it when one file "
		  "went wrong and other work should stay.",
	.flags = OP_WRITES | OP_REPEATABLE,
	.access = ENV_RESTORE,
	.params = params,
	.request_size = sizeof(struct restore_request),
	.result_size = sizeof(struct restore_result),
	.result = "changes:{added:int modified:int deleted:int} " SHAPE_REPORT,
	.run = do_restore,
	.result_json = result_json,
};
