/* cat - print a file as it was in a node. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_cat = {
	.name = "cat",
	.op = &op_cat,
};
