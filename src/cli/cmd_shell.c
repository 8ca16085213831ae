/* shell - an interactive shell in the environment. */
#include "cli/exec.h"
#include "ops/table.h"

const struct command cmd_shell = {
	.name = "shell",
	.summary = "an interactive shell in the environment",
	.op = &op_shell,
	.raw = exec_is_raw,
	.result = exec_print_result,
	.failed = EXEC_FAILED,
};
