/* policy explain - print what a policy allows, or whether it allows access to one path or host. */
#include "cli/command.h"
#include "ops/policies.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct explain_policy_row *it = row;

	printf("%s ", it->access);
	output_name(str_of(it->subject));
	if (it->port)
		printf(" port %d", it->port);
	printf(": ");
	output_style(out, it->verdict.allowed ? OUTPUT_GOOD : OUTPUT_BAD);
	printf("%s", it->verdict.allowed ? "allowed" : "denied");
	output_style(out, OUTPUT_PLAIN);
	printf("\n  rule: ");
	output_text(str_of(it->verdict.rule));
	if (!it->verdict.allowed) {
		printf("\n  to allow it: ");
		output_text(str_of(it->verdict.remedy));
	}
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct explain_policy_result *res = result;

	if (out->json)
		return 0;
	for (size_t i = 0; i < res->statements.n; i++) {
		output_text(str_of(res->statements.list[i]));
		putchar('\n');
	}
	output_warnings(res->policy.warnings.list, res->policy.warnings.n);
	return 0;
}

const struct command policy_explain = {
	.name = "explain",
	.op = &op_explain_policy,
	.row = print_row,
	.result = print_result,
};
