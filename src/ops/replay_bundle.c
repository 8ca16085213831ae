/* replay_bundle - run the command of a bundle again and compare. */
#include "core/own.h"
#include "ops/bundles.h"
#include "ops/shape.h"
#include "ops/tracedir.h"

static int emit_difference(void *arg, const struct replay_row *row, struct err *err)
{
	return op_emit(arg, row, err);
}

static void report_missing(void *arg, const struct restore_step *step)
{
	struct op_context *ctx = arg;

	report_add(ctx->report, REPORT_UNRESTORED, step->file->path, "%s", step->reason);
}

static int do_replay_bundle(
	struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct bundle_request *req = request;
	struct replay_bundle_result *res = result;
	struct replay_options options = {
		.report = emit_difference, .missing = report_missing, .arg = ctx
	};
	owned(bundle_closep) struct bundle *bundle = tracedir_open(req->dir, err);

	if (!bundle)
		return -(int)err->code;
	res->has_status = bundle->has_status;
	res->recorded_status = bundle->exit_status;
	return replay_run(bundle, &options, &res->replay, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct replay_row *differing = row;

	json_str(out, "path", differing->path);
	json_bits(out, "what", differing->what, REPLAY_DIFFERENCES, replay_difference_name);
	tracedir_state_json(out, "recorded", differing->recorded);
	tracedir_state_json(out, "replayed", differing->replayed);
}

static void result_json(struct json *out, const void *result)
{
	const struct replay_bundle_result *res = result;

	json_uint(out, "same", res->replay.same);
	json_int(out, "exit_status", res->replay.exit_status);
	if (res->has_status)
		json_int(out, "recorded_exit_status", res->recorded_status);
	json_bool(out, "complete", res->replay.complete);
}

const struct op op_replay_bundle = {
	.name = "trace replay",
	.summary = "run the command again and list what comes out differently",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL | OP_WRITES | OP_ALONE,
	.params = tracedir_params,
	.request_size = sizeof(struct bundle_request),
	.result_size = sizeof(struct replay_bundle_result),
	.rows = "differs",
	.row = "{path:text what:[text] recorded:" TRACEDIR_STATE_SHAPE
	       "replayed:" TRACEDIR_STATE_SHAPE "}",
	.result = "same:int exit_status:int recorded_exit_status?:int complete:bool",
	.run = do_replay_bundle,
	.row_json = row_json,
	.result_json = result_json,
};
