/* trace verify - whether a bundle is whole. */
#include <fcntl.h>

#include "cli/command.h"
#include "core/at.h"
#include "core/own.h"
#include "trace/bundle/bundle_verify.h"

struct verify_request {
	const char *dir;
};

struct verify_row {
	struct str where;
	const char *problem;
};

static const struct param params[] = {
	PARAM(verify_request, dir, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the directory of the bundle"),
	{ 0 },
};

static int tell(void *arg, struct str where, const char *problem, struct err *err)
{
	struct verify_row row = { where, problem };

	return op_emit(arg, &row, err);
}

static void progress(void *arg, uint64_t done, uint64_t total)
{
	op_progress(arg, "checking", done, total);
}

static int run(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct verify_request *req = request;
	struct bundle_verify *verify = result;
	owned_fd int dir = at_open_given(req->dir, O_RDONLY | O_DIRECTORY, 0, err);

	if (dir < 0)
		return dir;
	*verify = (struct bundle_verify){ .report = tell, .progress = progress, .arg = ctx };
	int r = bundle_verify(dir, verify, err);
	return r < 0 ? err_context(err, "'%s'", req->dir) : 0;
}

static void row_json(struct json *out, const void *row)
{
	const struct verify_row *problem = row;

	json_open(out, NULL, '{');
	json_str(out, "where", problem->where);
	json_text(out, "problem", problem->problem);
	json_close(out);
}

static void result_json(struct json *out, const void *result)
{
	const struct bundle_verify *verify = result;

	json_bool(out, "ok", !verify->problems);
	json_uint(out, "files", verify->files);
	json_uint(out, "blobs", verify->blobs);
	json_uint(out, "bytes", verify->bytes);
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct verify_row *problem = row;

	if (problem->where.len) {
		output_name(problem->where);
		printf(": ");
	}
	output_text(str_of(problem->problem));
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct bundle_verify *verify = result;

	if (!out->json && !verify->problems)
		printf("whole: %llu paths, %llu contents\n", (unsigned long long)verify->files,
			(unsigned long long)verify->blobs);
	return verify->problems ? 1 : 0;
}

static const struct op op_verify_bundle = {
	.name = "trace verify",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct verify_request),
	.result_size = sizeof(struct bundle_verify),
	.rows = "problems",
	.run = run,
	.row_json = row_json,
	.result_json = result_json,
};

const struct command trace_verify = {
	.name = "verify",
	.summary = "whether a bundle is whole",
	.op = &op_verify_bundle,
	.row = print_row,
	.result = print_result,
};
