/* fork - make further workspaces at a node. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	printf("%s\n", ((const struct fork_row *)row)->name);
}

const struct command cmd_fork = {
	.name = "fork",
	.op = &op_fork,
	.row = print_row,
};
