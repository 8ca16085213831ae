/* mcp - serve a client of the Model Context Protocol. */
#include "cli/command.h"
#include "ops/table.h"

/* Standard output has the messages of the protocol, and nothing else. */
static bool is_raw(const void *request)
{
	return true;
}

const struct command cmd_mcp = {
	.name = "mcp",
	.op = &op_mcp,
	.raw = is_raw,
};
