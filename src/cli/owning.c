#include "cli/owning.h"

#include "cli/dispatch.h"
#include "owner/owner.h"

static int relayed(int argc, char **argv)
{
	return dispatch_run(argc, argv, true);
}

int owning_run(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct owning_request *req = request;
	struct owning_result *res = result;
	struct owner_options options = {
		.root = ctx->root,
		.workspace = ctx->workspace,
		.agent = req->argv,
		.cwd = req->cwd,
		.env = req->env,
		.user = req->user,
		.net = req->net,
		.host_sockets = req->host_sockets,
		.bind = req->bind,
		.leaves = req->leaves,
		.keep = req->keep,
		.max_bytes = req->max_bytes,
		.command = relayed,
	};

	return owner_run(&options, &res->status, err);
}

int owning_result(struct output *out, const void *request, const void *result)
{
	return ((const struct owning_result *)result)->status;
}
