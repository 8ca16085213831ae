/* trace restore - put files back as a command left or found them. */
#include <fcntl.h>

#include "cli/command.h"
#include "cli/tracedir.h"
#include "core/at.h"
#include "core/own.h"
#include "trace/undo/restore.h"

struct restore_bundle_request {
	const char *dir;
	const char *to;
	bool before;
	bool dry_run;
	bool force;
};

struct restore_bundle_result {
	uint64_t restored, deleted, unchanged, failed;
};

static const struct param params[] = {
	PARAM(restore_bundle_request, dir, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the directory of the bundle"),
	PARAM(restore_bundle_request, before, FLAG, 0, "restore the state before the command"),
	PARAM(restore_bundle_request, dry_run, FLAG, 0,
		"only tell what would be done with each path"),
	PARAM(restore_bundle_request, to, TEXT, 0,
		"restore below this directory instead of the root"),
	PARAM(restore_bundle_request, force, FLAG, 0, "overwrite later changes"),
	{ 0 },
};

/* --------------------------------------------------------------- operations */

static void progress(void *arg, uint64_t done, uint64_t total)
{
	op_progress(arg, "restoring", done, total);
}

static int emit(struct op_context *ctx, const struct restore *restore, bool all, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < restore->n_steps && r >= 0; i++)
		if (all || restore->steps[i].action == RESTORE_SKIP || restore->steps[i].copied)
			r = op_emit(ctx, &restore->steps[i], err);
	for (size_t i = 0; i < restore->n_moves && r >= 0; i++)
		if (all || restore->moves[i].step.action == RESTORE_SKIP)
			r = op_emit(ctx, &restore->moves[i].step, err);
	return r;
}

/* Why nothing is done: the paths on stderr, as many as a report shows. */
static void report_obstacles(struct op_context *ctx, const struct restore *restore)
{
	for (size_t i = 0; i < restore->n_steps; i++) {
		const struct restore_step *step = &restore->steps[i];

		if (step->action == RESTORE_CONFLICT || step->action == RESTORE_MISSING)
			report_add(ctx->report, REPORT_UNRESTORED, step->file->path, "%s",
				step->reason);
	}
}

static int apply(struct op_context *ctx, struct restore *restore,
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
	return r < 0 ? r : emit(ctx, restore, false, err);
}

static int run(struct op_context *ctx, const void *request, void *result, struct err *err)
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
		.progress = progress,
		.arg = ctx,
	};
	owned(restore_plan_freep) struct restore *restore = restore_plan(bundle, &options, err);
	if (!restore)
		return -(int)err->code;
	return req->dry_run ? emit(ctx, restore, true, err) : apply(ctx, restore, result, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct restore_step *step = row;

	json_open(out, NULL, '{');
	json_str(out, "path", step->file->path);
	json_text(out, "reason", step->reason);
	if (step->copied)
		json_bool(out, "copied", true);
	json_close(out);
}

static void plan_row_json(struct json *out, const void *row)
{
	const struct restore_step *step = row;

	json_open(out, NULL, '{');
	json_str(out, "path", step->file->path);
	json_text(out, "action", restore_plan_action_name(step->action));
	if (step->reason)
		json_text(out, "reason", step->reason);
	json_close(out);
}

static void result_json(struct json *out, const void *result)
{
	const struct restore_bundle_result *res = result;

	json_uint(out, "restored", res->restored);
	json_uint(out, "deleted", res->deleted);
	json_uint(out, "unchanged", res->unchanged);
}

/* ------------------------------------------------------------------ people */

static void print_step(const struct restore_step *step, const char *what)
{
	printf("%-10s ", what);
	output_name(step->file->path);
	if (step->reason) {
		printf("  (");
		output_text(str_of(step->reason));
		putchar(')');
	}
	putchar('\n');
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct restore_bundle_request *req = request;
	const struct restore_step *step = row;

	if (step->action != RESTORE_NOTHING)
		print_step(step, req->dry_run   ? restore_plan_action_name(step->action)
				 : step->copied ? "copied"
						: "skipped");
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct restore_bundle_request *req = request;
	const struct restore_bundle_result *res = result;

	if (req->dry_run)
		return 0;
	if (!out->json)
		printf("%llu restored, %llu deleted, %llu as they should be\n",
			(unsigned long long)res->restored, (unsigned long long)res->deleted,
			(unsigned long long)res->unchanged);
	return res->failed ? 1 : 0;
}

static const struct op op_restore_bundle = {
	.name = "trace restore",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct restore_bundle_request),
	.result_size = sizeof(struct restore_bundle_result),
	.rows = "skipped",
	.run = run,
	.row_json = row_json,
	.result_json = result_json,
};

static const struct op op_plan_bundle = {
	.name = "trace restore",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct restore_bundle_request),
	.result_size = sizeof(struct restore_bundle_result),
	.rows = "plan",
	.run = run,
	.row_json = plan_row_json,
};

static const struct op *choose(const void *request)
{
	return ((const struct restore_bundle_request *)request)->dry_run ? &op_plan_bundle : NULL;
}

const struct command trace_restore = {
	.name = "restore",
	.summary = "put files back as the command left or found them",
	.op = &op_restore_bundle,
	.choose = choose,
	.row = print_row,
	.result = print_result,
};
