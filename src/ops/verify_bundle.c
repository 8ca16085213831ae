/* verify_bundle - check whether a bundle is complete and undamaged. */
#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/bundles.h"
#include "ops/tracedir.h"

static int emit_problem(void *arg, struct str where, const char *problem, struct err *err)
{
	struct verify_bundle_row row = { where, problem };

	return op_emit(arg, &row, err);
}

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
	op_progress(arg, "checking", done, total);
}

static int do_verify_bundle(
	struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct bundle_request *req = request;
	struct bundle_verify *verify = result;
	owned_fd int dir = at_open_given(req->dir, O_RDONLY | O_DIRECTORY, 0, err);

	if (dir < 0)
		return dir;
	*verify = (struct bundle_verify){
		.report = emit_problem, .progress = show_progress, .arg = ctx
	};
	int r = bundle_verify(dir, verify, err);
	return r < 0 ? err_context(err, "'%s'", req->dir) : 0;
}

static void row_json(struct json *out, const void *row)
{
	const struct verify_bundle_row *problem = row;

	json_str(out, "where", problem->where);
	json_text(out, "problem", problem->problem);
}

static void result_json(struct json *out, const void *result)
{
	const struct bundle_verify *verify = result;

	json_bool(out, "ok", !verify->problems);
	json_uint(out, "files", verify->files);
	json_uint(out, "blobs", verify->blobs);
	json_uint(out, "bytes", verify->bytes);
}

const struct op op_verify_bundle = {
	.name = "trace verify",
	.summary = "whether a bundle is whole",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = tracedir_params,
	.request_size = sizeof(struct bundle_request),
	.result_size = sizeof(struct bundle_verify),
	.rows = "problems",
	.row = "{where:text problem:text}",
	.result = "ok:bool files:int blobs:int bytes:int",
	.run = do_verify_bundle,
	.row_json = row_json,
	.result_json = result_json,
};
