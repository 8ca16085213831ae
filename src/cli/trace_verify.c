/* trace verify - check whether a bundle is whole. */
#include "cli/command.h"
#include "ops/bundles.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct verify_bundle_row *problem = row;

	if (problem->where.len) {
		output_name(problem->where);
		printf(": ");
	}
	output_text(str_of(problem->problem));
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct bundle_verify *verify = result;

	if (!out->json && !verify->problems)
		printf("whole: %llu paths, %llu contents\n", (unsigned long long)verify->files,
			(unsigned long long)verify->blobs);
	return verify->problems ? 1 : 0;
}

const struct command trace_verify = {
	.name = "verify",
	.op = &op_verify_bundle,
	.row = print_row,
	.result = print_result,
};
