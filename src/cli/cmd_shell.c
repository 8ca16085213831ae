/* shell - run an interactive shell in the environment.  Its changes are captured while it runs. */
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
