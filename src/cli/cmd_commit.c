/* commit - record the live tree as a new node. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct commit_result *res = result;

	if (out->json)
		return 0;
	if (res->made)
		output_node_line(out, &res->node);
	else
		printf("nothing changed since %s\n", res->node.node->id);
	return 0;
}

const struct command cmd_commit = {
	.name = "commit",
	.op = &op_commit,
	.result = print_result,
};
