/* trace restore - put files back as a command left or found them. */
#include <fcntl.h>

#include "cli/command.h"
#include "cli/tracedir.h"
#include "core/at.h"
#include "core/own.h"
#include "trace/putback.h"

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

static const struct op_param params[] = {
	{ "dir", 0, OP_TEXT, OP_REQUIRED | OP_POSITIONAL,
		offsetof(struct restore_bundle_request, dir) },
	{ "before", 0, OP_FLAG, 0, offsetof(struct restore_bundle_request, before) },
	{ "dry_run", 0, OP_FLAG, 0, offsetof(struct restore_bundle_request, dry_run) },
	{ "to", 0, OP_TEXT, 0, offsetof(struct restore_bundle_request, to) },
	{ "force", 0, OP_FLAG, 0, offsetof(struct restore_bundle_request, force) },
	{ NULL, 0, 0, 0, 0 },
};

/* --------------------------------------------------------------- operations */

static void progress(void *arg, uint64_t done, uint64_t total)
{
	op_progress(arg, "restoring", done, total);
}

static int emit(struct op_context *ctx, const struct putback *putback, bool all, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < putback->n_steps && r >= 0; i++)
		if (all || putback->steps[i].action == PUTBACK_SKIP || putback->steps[i].copied)
			r = op_emit(ctx, &putback->steps[i], err);
	for (size_t i = 0; i < putback->n_moves && r >= 0; i++)
		if (all || putback->moves[i].step.action == PUTBACK_SKIP)
			r = op_emit(ctx, &putback->moves[i].step, err);
	return r;
}

/* Why nothing is done: the paths on stderr, as many as a report shows. */
static void report_obstacles(struct op_context *ctx, const struct putback *putback)
{
	for (size_t i = 0; i < putback->n_steps; i++) {
		const struct putback_step *step = &putback->steps[i];

		if (step->action == PUTBACK_CONFLICT || step->action == PUTBACK_MISSING)
			report_add(ctx->report, REPORT_UNRESTORED, step->file->path, "%s",
				step->reason);
	}
}

static int apply(struct op_context *ctx, struct putback *putback,
	struct restore_bundle_result *result, struct err *err)
{
	int r = putback_apply(putback, err);

	if (r < 0 && (putback->conflicts || putback->missing))
		report_obstacles(ctx, putback);
	if (r < 0 && putback->conflicts)
		return err_hint(err, "'--force' overwrites later changes");
	*result = (struct restore_bundle_result){
		.restored = putback->restored,
		.deleted = putback->deleted,
		.unchanged = putback->unchanged,
		.failed = putback->failed,
	};
	return r < 0 ? r : emit(ctx, putback, false, err);
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
	struct putback_options options = {
		.root = root,
		.side = req->before ? BUNDLE_BEFORE : BUNDLE_AFTER,
		.elsewhere = req->to,
		.force = req->force,
		.progress = progress,
		.arg = ctx,
	};
	owned(putback_freep) struct putback *putback = putback_plan(bundle, &options, err);
	if (!putback)
		return -(int)err->code;
	return req->dry_run ? emit(ctx, putback, true, err) : apply(ctx, putback, result, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct putback_step *step = row;

	json_open(out, NULL, '{');
	json_str(out, "path", step->file->path);
	json_text(out, "reason", step->reason);
	if (step->copied)
		json_bool(out, "copied", true);
	json_close(out);
}

static void plan_row_json(struct json *out, const void *row)
{
	const struct putback_step *step = row;

	json_open(out, NULL, '{');
	json_str(out, "path", step->file->path);
	json_text(out, "action", putback_action_name(step->action));
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

static void print_step(const struct putback_step *step, const char *what)
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
	const struct putback_step *step = row;

	if (step->action != PUTBACK_NOTHING)
		print_step(step, req->dry_run   ? putback_action_name(step->action)
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
