/* shell - an interactive shell in the environment, its changes captured as it goes. */
#include "cli/execution.h"
#include "cli/owning.h"
#include "ops/requests.h"
#include "ops/shell.h"
#include "ops/table.h"

/* For as long as it runs we own the workspace; unless it has an owner, who captures then. */
static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct exec_request *req = request;
	struct exec_result *result = out;
	struct owning_request owning = {
		.argv = shell_argv(),
		.cwd = req->cwd,
		.env = req->env,
		.user = req->user,
		.net = req->net,
		.host_sockets = req->host_sockets,
		.bind = req->bind,
		.leaves = true,
	};
	struct owning_result ended = { 0 };
	struct err why = { 0 };
	int r = owning_run(ctx, &owning, &ended, &why);

	if (r == -ERR_BUSY)
		return op_shell.run(ctx, request, out, err);
	if (r < 0)
		*err = why;
	result->report = ctx->report;
	result->sandbox.status = ended.status;
	return r;
}

static const struct op op_owning_shell = {
	.name = "shell",
	.flags = OP_LOCAL | OP_NO_ENV | OP_WRITES,
	.request_size = sizeof(struct exec_request),
	.result_size = sizeof(struct exec_result),
	.run = run,
};

static const struct op *choose(const void *request)
{
	return &op_owning_shell;
}

const struct command cmd_shell = {
	.name = "shell",
	.summary = "an interactive shell in the environment",
	.op = &op_shell,
	.choose = choose,
	.raw = execution_is_raw,
	.before = execution_warn,
	.result = execution_print,
	.failed = EXECUTION_FAILED,
};
