/* policy check - check whether a file contains a valid policy. */
#include "cli/command.h"
#include "ops/policies.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct check_policy_request *req = request;
	const struct policy_list *warnings =
		&((const struct policy_result *)result)->policy.warnings;

	if (out->json)
		return 0;
	output_name(str_of(req->file));
	printf(": a policy\n");
	output_warnings(warnings->list, warnings->n);
	return 0;
}

const struct command policy_check = {
	.name = "check",
	.op = &op_check_policy,
	.result = print_result,
};
