/* restore - restore single paths of the live tree from a node. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct restore_result *res = result;

	int status = res->report->count[REPORT_DAMAGED] ? 1 : 0;

	if (out->json)
		return status;
	printf("restored  [");
	output_counts(&res->changes);
	printf("]\n");
	return status;
}

const struct command cmd_restore = {
	.name = "restore",
	.op = &op_restore,
	.result = print_result,
};
