/* checkout - make the live tree equal to the tree of a node. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_checkout = {
	.name = "checkout",
	.op = &op_checkout,
	.result = output_moved,
};
