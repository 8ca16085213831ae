/* branches - list the nodes that have no children. */
#include "cli/command.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	output_node_line(out, row);
}

const struct command cmd_branches = {
	.name = "branches",
	.op = &op_branches,
	.row = print_row,
};
