/* import - make a node from a tar file. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	if (!out->json)
		output_node_line(out, &((const struct import_result *)result)->node);
	return 0;
}

const struct command cmd_import = {
	.name = "import",
	.op = &op_import,
	.result = print_result,
};
