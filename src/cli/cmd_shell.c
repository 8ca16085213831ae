/* shell - an interactive shell in the environment, its changes captured as it goes. */
#include "cli/execution.h"
#include "ops/table.h"

const struct command cmd_shell = {
	.name = "shell",
	.op = &op_shell,
	.raw = execution_is_raw,
	.before = execution_warn,
	.result = execution_print,
	.failed = EXECUTION_FAILED,
};
