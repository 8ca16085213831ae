/* head - print the id of HEAD. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	if (!out->json)
		puts(((const struct id_result *)result)->id);
	return 0;
}

const struct command cmd_head = {
	.name = "head",
	.op = &op_head,
	.result = print_result,
};
