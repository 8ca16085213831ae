/* query - ask the history by one of the methods of the query agent. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_query = {
	.name = "query",
	.op = &op_query,
};
