/* trace - record what a command does to files, and work with such records. */
#include "cli/command.h"
#include "ops/bundles.h"
#include "ops/table.h"

extern const struct command trace_cat, trace_diff, trace_replay, trace_restore, trace_show,
	trace_verify;

/*
 * The commands of the group 'trace'.  They are commands only as the first word after 'trace'.  Any
 * other first word is a program to run.
 */
static const struct command *const group[] = {
	&trace_cat,
	&trace_diff,
	&trace_replay,
	&trace_restore,
	&trace_show,
	&trace_verify,
	NULL,
};

static void warn_incomplete(const struct record_bundle_result *res)
{
	if (!res->kept)
		fprintf(stderr, "strata: trace: nothing was kept in '%s': %s\n", res->output,
			res->reason);
	else if (!res->complete)
		fprintf(stderr, "strata: trace: '%s' is incomplete: %s\n", res->output,
			res->reason);
	if (res->instead)
		fprintf(stderr, "strata: trace: '%s' is not empty any more: the bundle is '%s'\n",
			res->output, res->instead);
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct record_bundle_result *res = result;

	if (res->failure.code)
		output_error(&res->failure);
	else
		warn_incomplete(res);
	return res->exit_status;
}

const struct command cmd_trace = {
	.name = "trace",
	.group = group,
	.op = &op_record_bundle,
	.aside = true,
	.result = print_result,
};
