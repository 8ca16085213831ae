/* exec - run a command in the environment. */
#include "cli/exec.h"
#include "ops/table.h"

const struct command cmd_exec = {
	.name = "exec",
	.summary = "run a command in the environment",
	.op = &op_exec,
	.raw = exec_is_raw,
	.result = exec_print_result,
	.failed = EXEC_FAILED,
};
