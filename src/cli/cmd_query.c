/* query - call a method of the query protocol on the history. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_query = {
	.name = "query",
	.op = &op_query,
};
