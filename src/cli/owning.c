#include "cli/owning.h"

#include <stdio.h>

#include "cli/dispatch.h"
#include "core/jsonread.h"
#include "core/own.h"
#include "owner/owner.h"

static void tell(void *arg, struct str line)
{
	struct op_context *ctx = arg;
	struct err ignored = { 0 };

	/* Who reads it may have gone: that is no reason to stop recording. */
	(void)op_emit(ctx, &line, &ignored);
}

void owning_row_json(struct json *out, const void *row)
{
	struct err ignored = { 0 };
	owned(jsonread_freep) struct jsonread *event =
		jsonread_new(*(const struct str *)row, &ignored);

	if (event)
		jsonread_write(out, NULL, event);
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
		.relayed = dispatch_relayed,
	};

	/* Without a place for raw data it is JSON that is wanted. */
	if (!ctx->data) {
		options.tell = tell;
		options.arg = ctx;
	}
	/* A task that is another strata prints, too: nothing of ours may be left for it. */
	(void)fflush(stdout);
	return owner_run(&options, &res->status, err);
}

int owning_result(struct output *out, const void *request, const void *result)
{
	return ((const struct owning_result *)result)->status;
}
