/* exec - run a command in the environment. */
#include "cli/execution.h"
#include "ops/table.h"

const struct command cmd_exec = {
	.name = "exec",
	.op = &op_exec,
	.aside = true,
	.before = execution_warn,
	.result = execution_print,
	.failed = EXECUTION_FAILED,
};
