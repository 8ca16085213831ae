#include "cli/owning.h"

#include <stdio.h>

#include "cli/dispatch.h"
#include "mcp/mcpserver.h"
#include "owner/owner.h"

static void emit_event(void *arg, struct str line)
{
	struct op_context *ctx = arg;
	struct err ignored = { 0 };

	/*
	 * An error means that the reader of the events has disconnected.  Ignore the error, so that
	 * recording goes on.
	 */
	(void)op_emit(ctx, &line, &ignored);
}

static int own(
	struct op_context *ctx, const struct supervise_request *req, int *status, struct err *err)
{
	struct owner_options options = {
		.root = ctx->root,
		.workspace = ctx->workspace,
		.request = req,
		.relayed = dispatch_relayed,
	};

	/* If there is no sink for raw data, the result is JSON.  So events are emitted as rows. */
	if (!ctx->data) {
		options.tell = emit_event;
		options.arg = ctx;
	}
	/*
	 * Flush the buffer before tasks are forked from this process.  The tasks print, too, and
	 * would print the content of the buffer a second time.
	 */
	(void)fflush(stdout);
	return owner_run(&options, status, err);
}

const struct op_owner owning = { own, cmd_ctl_call, mcpserver_run };

int owning_result(struct output *out, const void *request, const void *result)
{
	return ((const struct supervise_result *)result)->status;
}
