/* daemon - own a workspace: nodes by themselves, the control socket. */
#include "cli/owning.h"

static const struct op_param params[] = {
	{ "keep", 0, OP_COUNT, 0, offsetof(struct owning_request, keep) },
	{ "max_bytes", 0, OP_BYTES, 0, offsetof(struct owning_request, max_bytes) },
	{ NULL, 0, 0, 0, 0 },
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
