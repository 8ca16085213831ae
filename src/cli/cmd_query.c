/* query - ask the history by one of the methods of the query agent. */
#include "cli/command.h"
#include "ops/table.h"

const struct command cmd_query = {
	.name = "query",
	.summary = "ask the history by a method of the query agent",
	.op = &op_query,
};
