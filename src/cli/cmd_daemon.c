/* daemon - own a workspace: nodes by themselves, the control socket. */
#include "cli/owning.h"

static const struct param params[] = {
	PARAM(owning_request, keep, COUNT, 0, "the last nodes to keep whatever their age"),
	PARAM(owning_request, max_bytes, BYTES, 0,
		"thin out further until the store is below this size"),
	{ 0 },
};

static const struct op op_daemon = {
	.name = "daemon",
	.flags = OP_NO_ENV | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct owning_request),
	.result_size = sizeof(struct owning_result),
	.rows = "events",
	.run = owning_run,
	.row_json = owning_row_json,
};

const struct command cmd_daemon = {
	.name = "daemon",
	.summary = "keep every change by itself and serve the control socket",
	.op = &op_daemon,
	.live = true,
	.result = owning_result,
};
