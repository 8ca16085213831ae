/* checkout - turn the live tree into a node. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_checkout = {
	.name = "checkout",
	.op = &op_checkout,
	.result = output_moved,
};
