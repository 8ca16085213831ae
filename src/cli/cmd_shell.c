/* shell - an interactive shell in the environment. */
#include "cli/execution.h"
#include "ops/table.h"

const struct command cmd_shell = {
	.name = "shell",
	.summary = "an interactive shell in the environment",
	.op = &op_shell,
	.raw = execution_is_raw,
	.result = execution_print,
	.failed = EXECUTION_FAILED,
};
