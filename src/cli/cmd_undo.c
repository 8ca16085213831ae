/* undo - move HEAD and the live tree back to an earlier node. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_undo = {
	.name = "undo",
	.op = &op_undo,
	.result = output_moved,
};
