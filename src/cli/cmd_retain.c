/* retain - apply retention, which drops nodes of the old history. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct retain_request *req = request;

	printf("%s ", req->dry_run ? "would drop" : "dropped");
	output_node_line(out, row);
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct retention_result *res = result;

	if (res->over_limit)
		fprintf(stderr, "strata: the nodes that are always kept need more than that\n");
	if (!out->json)
		printf("%llu nodes kept, %llu dropped\n", (unsigned long long)res->kept,
			(unsigned long long)res->dropped);
	return 0;
}

const struct command cmd_retain = {
	.name = "retain",
	.op = &op_retain,
	.row = print_row,
	.result = print_result,
};
