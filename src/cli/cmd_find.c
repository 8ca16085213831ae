/* find - find paths of a node by pattern. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	output_name(((const struct find_row *)row)->path);
	putchar('\n');
}

const struct command cmd_find = {
	.name = "find",
	.op = &op_find,
	.row = print_row,
};
