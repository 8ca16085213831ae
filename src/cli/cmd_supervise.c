/* supervise - own a workspace and run an agent in it. */
#include "cli/execution.h"
#include "cli/owning.h"

static const struct op_param params[] = {
	{ "cwd", 0, OP_TEXT, 0, offsetof(struct owning_request, cwd) },
	{ "env", 0, OP_TEXTS, 0, offsetof(struct owning_request, env) },
	{ "user", 0, OP_TEXT, 0, offsetof(struct owning_request, user) },
	{ "net", 0, OP_TEXT, 0, offsetof(struct owning_request, net) },
	{ "host_sockets", 0, OP_FLAG, 0, offsetof(struct owning_request, host_sockets) },
	{ "bind", 0, OP_TEXTS, 0, offsetof(struct owning_request, bind) },
	{ "keep", 0, OP_COUNT, 0, offsetof(struct owning_request, keep) },
	{ "max_bytes", 0, OP_BYTES, 0, offsetof(struct owning_request, max_bytes) },
	{ "argv", 0, OP_TEXTS, OP_REQUIRED | OP_AFTER_DASHES,
		offsetof(struct owning_request, argv) },
	{ NULL, 0, 0, 0, 0 },
};

static const struct op op_supervise = {
	.name = "supervise",
	.flags = OP_NO_ENV | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct owning_request),
	.result_size = sizeof(struct owning_result),
	.run = owning_run,
};

const struct command cmd_supervise = {
	.name = "supervise",
	.summary = "run an agent; keep every change by itself; roll back and go on",
	.op = &op_supervise,
	.raw = execution_is_raw,
	.before = execution_warn,
	.result = owning_result,
	.failed = EXECUTION_FAILED,
};
