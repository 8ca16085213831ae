/* redo - move HEAD and the live tree forward again after undo. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_redo = {
	.name = "redo",
	.op = &op_redo,
	.result = output_moved,
};
