/* restore - bring back single paths of a node. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct restore_result *res = result;

	if (out->json)
		return 0;
	printf("restored  [");
	output_counts(&res->changes);
	printf("]\n");
	return 0;
}

const struct command cmd_restore = {
	.name = "restore",
	.summary = "bring back single paths of a node",
	.op = &op_restore,
	.result = print_result,
};
