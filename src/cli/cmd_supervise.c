/* supervise - own a workspace and run an agent in it. */
#include "cli/execution.h"
#include "cli/owning.h"

static const struct param params[] = {
	PARAM(owning_request, cwd, TEXT, 0,
		"the directory of the environment to start in; / unless given"),
	PARAM(owning_request, env, TEXTS, 0, "NAME=VALUE, or NAME: as it is here"),
	PARAM(owning_request, user, TEXT, 0, "USER[:GROUP] of the environment; root unless given"),
	PARAM(owning_request, net, TEXT, 0, "host (the default) or none"),
	PARAM(owning_request, host_sockets, FLAG, 0,
		"with the machine's network, its abstract sockets as well"),
	PARAM(owning_request, bind, TEXTS, 0,
		"HOST:INSIDE[:ro]: show a file or directory of this machine"),
	PARAM(owning_request, keep, COUNT, 0, "the last nodes to keep whatever their age"),
	PARAM(owning_request, max_bytes, BYTES, 0,
		"thin out further until the store is below this size"),
	PARAM(owning_request, argv, TEXTS, PARAM_REQUIRED | PARAM_AFTER_DASHES,
		"the agent and its arguments"),
	{ 0 },
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
