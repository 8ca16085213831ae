/* trace restore - restore files to their state before or after a traced command. */
#include "cli/command.h"
#include "ops/bundles.h"
#include "ops/table.h"

static void print_step(const struct restore_step *step, const char *what)
{
	printf("%-10s ", what);
	output_name(step->file->path);
	if (step->reason) {
		printf("  (");
		output_text(str_of(step->reason));
		putchar(')');
	}
	putchar('\n');
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct restore_bundle_request *req = request;
	const struct restore_step *step = row;

	if (step->action != RESTORE_NOTHING)
		print_step(step, req->dry_run     ? restore_plan_action_name(step->action)
				 : step->copied   ? "copied"
				 : step->outdated ? "outdated"
						  : "skipped");
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct restore_bundle_request *req = request;
	const struct restore_bundle_result *res = result;

	if (req->dry_run)
		return 0;
	if (!out->json)
		printf("%llu restored, %llu deleted, %llu as they should be\n",
			(unsigned long long)res->restored, (unsigned long long)res->deleted,
			(unsigned long long)res->unchanged);
	return res->failed ? 1 : 0;
}

static const struct op *choose_restore_op(const void *request)
{
	return ((const struct restore_bundle_request *)request)->dry_run ? &op_restore_bundle_plan
									 : NULL;
}

const struct command trace_restore = {
	.name = "restore",
	.op = &op_restore_bundle,
	.choose = choose_restore_op,
	.row = print_row,
	.result = print_result,
};
