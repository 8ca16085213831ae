/* shell - run an interactive shell in the environment. */
#include "ops/confined.h"
#include "ops/exec.h"
#include "ops/supervise.h"

static const struct param params[] = {
	EXEC_PLACE_PARAMS(exec_request),
	{ 0 },
};

/* Look for the shell in the sandbox.  Outside of it, symbolic links would lead elsewhere. */
static const char *find_shell[] = { "/bin/sh", "-c",
	"[ -x /bin/bash ] && exec /bin/bash -i; exec /bin/sh -i" };

/* Own the workspace as long as the shell runs, so that changes are captured while it runs. */
static int run_owning(struct op_context *ctx, const struct exec_request *req,
	struct exec_result *result, struct err *err)
{
	struct supervise_request owning = {
		.argv = req->argv,
		.place = req->place,
		.leaves = true,
	};

	result->report = ctx->report;
	if (confined_ready(&owning.place, ctx->arena, err) < 0)
		return -(int)err->code;
	return ctx->owner->own(ctx, &owning, &result->sandbox.status, err);
}

static int do_shell(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct exec_request req = *(const struct exec_request *)request;
	struct err why = { 0 };

	req.argv = (struct param_texts){ find_shell, sizeof(find_shell) / sizeof(find_shell[0]) };
	int r = ctx->owner ? run_owning(ctx, &req, out, &why) : -ERR_BUSY;
	/* If the workspace already has an owner, that owner captures the changes of the shell. */
	if (r == -ERR_BUSY)
		return exec_run(ctx, &req, out, err);
	if (r < 0)
		*err = why;
	return r;
}

const struct op op_shell = {
	.name = "shell",
	.summary = "an interactive shell in the environment",
	.flags = OP_LOCAL | OP_NO_ENV | OP_WRITES | OP_EXECUTES,
	.params = params,
	.request_size = sizeof(struct exec_request),
	.result_size = sizeof(struct exec_result),
	.result = EXEC_SHAPE,
	.run = do_shell,
	.result_json = exec_result_json,
};
