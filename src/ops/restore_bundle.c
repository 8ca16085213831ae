/* restore_bundle - put files back in the state before or after a command. */
#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/bundles.h"
#include "ops/tracedir.h"

static const struct param params[] = {
	TRACEDIR_PARAM(restore_bundle_request),
	PARAM(restore_bundle_request, before, FLAG, 0, "restore the state before the command"),
	PARAM(restore_bundle_request, dry_run, FLAG, 0,
		"only tell what would be done with each path"),
	PARAM(restore_bundle_request, to, TEXT, 0,
		"restore below this directory instead of the root"),
	PARAM(restore_bundle_request, force, FLAG, 0, "overwrite later changes"),
	{ 0 },
};

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
	op_progress(arg, "restoring", done, total);
}

static int emit_steps(
	struct op_context *ctx, const struct restore *restore, bool all, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < restore->n_steps && r >= 0; i++)
		if (all || restore->steps[i].action == RESTORE_SKIP || restore->steps[i].copied ||
			restore->steps[i].outdated)
			r = op_emit(ctx, &restore->steps[i], err);
	for (size_t i = 0; i < restore->n_moves && r >= 0; i++)
		if (all || restore->moves[i].step.action == RESTORE_SKIP)
			r = op_emit(ctx, &restore->moves[i].step, err);
	return r;
}

/* Report the paths that prevented the restore. */
static void report_obstacles(struct op_context *ctx, const struct restore *restore)
{
	for (size_t i = 0; i < restore->n_steps; i++) {
		const struct restore_step *step = &restore->steps[i];

		if (step->action == RESTORE_CONFLICT || step->action == RESTORE_MISSING)
			report_add(ctx->report, REPORT_UNRESTORED, step->file->path, "%s",
				step->reason);
	}
}

static int apply_plan(struct op_context *ctx, struct restore *restore,
	struct restore_bundle_result *result, struct err *err)
{
	int r = restore_apply(restore, err);

	if (r < 0 && (restore->conflicts || restore->missing))
		report_obstacles(ctx, restore);
	if (r < 0 && restore->conflicts)
		return err_hint(err, "'--force' overwrites later changes");
	*result = (struct restore_bundle_result){
		.restored = restore->restored,
		.deleted = restore->deleted,
		.unchanged = restore->unchanged,
		.failed = restore->failed,
	};
	return r < 0 ? r : emit_steps(ctx, restore, false, err);
}

static int do_restore_bundle(
	struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct restore_bundle_request *req = request;
	owned(bundle_closep) struct bundle *bundle = tracedir_open(req->dir, err);

	if (!bundle)
		return -(int)err->code;
	if (bundle->damaged && !req->force) {
		err_set(err, ERR_CORRUPT,
			"'%s': " BUNDLE_MANIFEST " is not as it was written; nothing was touched",
			req->dir);
		return err_hint(
			err, "'strata trace verify' says more; '--force' restores what it says");
	}
	owned_fd int root = at_open_given(req->to ? req->to : "/", O_RDONLY | O_DIRECTORY, 0, err);
	if (root < 0)
		return root;
	struct restore_options options = {
		.root = root,
		.side = req->before ? BUNDLE_BEFORE : BUNDLE_AFTER,
		.elsewhere = req->to,
		.force = req->force,
		.progress = show_progress,
		.arg = ctx,
	};
	owned(restore_plan_freep) struct restore *restore = restore_plan(bundle, &options, err);
	if (!restore)
		return -(int)err->code;
	return req->dry_run ? emit_steps(ctx, restore, true, err)
			    : apply_plan(ctx, restore, result, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct restore_step *step = row;

	json_str(out, "path", step->file->path);
	json_text(out, "reason", step->reason);
	if (step->copied)
		json_bool(out, "copied", true);
	if (step->outdated)
		json_bool(out, "outdated", true);
}

static void plan_row_json(struct json *out, const void *row)
{
	const struct restore_step *step = row;

	json_str(out, "path", step->file->path);
	json_text(out, "action", restore_plan_action_name(step->action));
	if (step->reason)
		json_text(out, "reason", step->reason);
}

static void result_json(struct json *out, const void *result)
{
	const struct restore_bundle_result *res = result;

	json_uint(out, "restored", res->restored);
	json_uint(out, "deleted", res->deleted);
	json_uint(out, "unchanged", res->unchanged);
}

const struct op op_restore_bundle = {
	.name = "trace restore",
	.summary = "put files back as the command left or found them",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL | OP_WRITES | OP_ALONE,
	.params = params,
	.request_size = sizeof(struct restore_bundle_request),
	.result_size = sizeof(struct restore_bundle_result),
	.rows = "skipped",
	.row = "{path:text reason:text? copied?:bool outdated?:bool}",
	.result = "restored:int deleted:int unchanged:int",
	.run = do_restore_bundle,
	.row_json = row_json,
	.result_json = result_json,
};

const struct op op_restore_bundle_plan = {
	.name = "trace plan",
	.summary = "what restoring a bundle would do with each path",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct restore_bundle_request),
	.result_size = sizeof(struct restore_bundle_result),
	.rows = "plan",
	.row = "{path:text action:text reason?:text}",
	.run = do_restore_bundle,
	.row_json = plan_row_json,
};
