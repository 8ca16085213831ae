/* supervise - be the owner of a workspace, and run an agent in the workspace. */
#include "cli/execution.h"
#include "cli/owning.h"
#include "ops/table.h"

const struct command cmd_supervise = {
	.name = "supervise",
	.op = &op_supervise,
	.raw = execution_is_raw,
	.before = execution_warn,
	.result = owning_result,
	.failed = EXECUTION_FAILED,
};
