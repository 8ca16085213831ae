/* delete - remove a node from the history. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	if (!out->json)
		printf("deleted %s\n", ((const struct id_result *)result)->id);
	return 0;
}

const struct command cmd_delete = {
	.name = "delete",
	.op = &op_delete,
	.result = print_result,
};
