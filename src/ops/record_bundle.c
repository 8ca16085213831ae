/*
 * record_bundle - run a command, and record the state of the files that it uses, before and after
 * the command.
 */
#include <string.h>

#include "core/own.h"
#include "ops/bundles.h"

#define NO_LIMIT_GIVEN -1

static const struct param params[] = {
	PARAM(record_bundle_request, snapshot_dir, TEXT, 0,
		"the directory of the bundle, which must not exist or be empty"),
	PARAM(record_bundle_request, output, TEXT, 0, "the same as snapshot_dir"),
	PARAM(record_bundle_request, engine, TEXT, 0, "auto (the default), bpf, notify or ptrace"),
	PARAM(record_bundle_request, ignore, TEXT, 0, "the file with paths that are not recorded"),
	PARAM(record_bundle_request, compression, TEXT, 0, "snappy (the default) or zstd"),
	PARAM(record_bundle_request, read_limit, BYTES, PARAM_FROM_ZERO,
		"keep no content of larger files that are only read", .fallback = NO_LIMIT_GIVEN),
	PARAM(record_bundle_request, argv, TEXTS, PARAM_REST, "the command and its arguments"),
	{ 0 },
};

static int check_request(const void *request, struct err *err)
{
	const struct record_bundle_request *req = request;

	if (!req->output && !req->snapshot_dir)
		return err_set(err, ERR_USAGE,
			"trace: say where to: --snapshot-dir DIR (see 'strata help trace')");
	if (!req->argv.count)
		return err_set(
			err, ERR_USAGE, "trace: no command to run (see 'strata help trace')");
	if (req->compression && strcmp(req->compression, "snappy") != 0 &&
		strcmp(req->compression, "zstd") != 0)
		return err_set(err, ERR_USAGE,
			"trace: no compression '%.100s': there are snappy and zstd",
			req->compression);
	return 0;
}

static void note_end(
	struct arena *arena, const struct trace_result *trace, struct record_bundle_result *result)
{
	const char *why = result->failure.code  ? result->failure.text
			  : trace->unsaved.code ? trace->unsaved.text
			  : !trace->complete    ? trace->first_reason
						: NULL;

	result->exit_status = trace->exit_status;
	result->kept = !result->failure.code && !trace->unsaved.code;
	result->complete = result->kept && trace->complete;
	result->reason = why ? arena_printf(arena, "%s", why) : NULL;
	result->instead = trace->instead ? arena_printf(arena, "%s", trace->instead) : NULL;
}

/*
 * Run a command and record it.  A command that could not be run is no error of the operation.  The
 * failure is a part of the result, and has an exit status of its own.
 */
static int do_record_bundle(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct record_bundle_request *req = request;
	struct record_bundle_result *result = out;
	owned(trace_result_release) struct trace_result trace = { 0 };
	size_t n = req->argv.count;
	const char **argv = arena_alloc(ctx->arena, (n + 1) * sizeof(*argv));
	bool zstd = req->compression && !strcmp(req->compression, "zstd");
	struct trace_request run = {
		.output = req->output ?: req->snapshot_dir,
		.engine = req->engine,
		.ignore = req->ignore,
		.codec = zstd ? PQWRITE_ZSTD : PQWRITE_SNAPPY,
		.has_read_limit = req->read_limit != (uint64_t)NO_LIMIT_GIVEN,
		.read_limit = req->read_limit,
		.argv = (char *const *)argv,
	};

	memcpy(argv, req->argv.list, n * sizeof(*argv));
	result->output = run.output;
	if (trace_run(&run, &trace, &result->failure) < 0)
		err_context(&result->failure, "trace");
	note_end(ctx->arena, &trace, result);
	return 0;
}

static void result_json(struct json *out, const void *result)
{
	const struct record_bundle_result *res = result;

	json_int(out, "exit_status", res->exit_status);
	json_text(out, "bundle", res->kept ? res->instead ?: res->output : NULL);
	json_bool(out, "complete", res->complete);
	json_text(out, "reason", res->reason);
}

const struct op op_record_bundle = {
	.name = "trace",
	.summary = "record what a command does to files, look at it, undo it",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL | OP_WRITES | OP_ALONE,
	.params = params,
	.request_size = sizeof(struct record_bundle_request),
	.result_size = sizeof(struct record_bundle_result),
	.check = check_request,
	.result = "exit_status:int bundle:text? complete:bool reason:text?",
	.run = do_record_bundle,
	.result_json = result_json,
};
