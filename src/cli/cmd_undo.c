/* undo - go back to where HEAD was before. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_undo = {
	.name = "undo",
	.op = &op_undo,
	.result = output_moved,
};
