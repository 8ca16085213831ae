/* agent - answer the queries that a program sends as lines of JSON-RPC. */
#include "cli/command.h"
#include "ops/table.h"

/* Standard output has the replies, and nothing else. */
static bool is_raw(const void *request)
{
	return true;
}

const struct command cmd_agent = {
	.name = "agent",
	.op = &op_agent,
	.raw = is_raw,
};
