/* query - call a method of the query protocol on the history. */
#include "cli/command.h"
#include "cli/resultview.h"
#include "core/errcode.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct query_result *res = result;
	struct err err = { 0 };

	if (out->json || resultview_print(res->method, res->members, &err) >= 0)
		return 0;
	output_error(&err);
	return errcode_status(&err);
}

const struct command cmd_query = {
	.name = "query",
	.op = &op_query,
	.result = print_result,
};
