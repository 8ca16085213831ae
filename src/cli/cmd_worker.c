/* worker - serve files to a program, under a policy. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct worker_row *event = row;

	if (event->text)
		fprintf(stderr, "strata: worker: %s\n", event->text);
	else
		printf("%s\n", event->event);
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct worker_result *res = result;

	if (res->missing.code)
		output_error(&res->missing);
	return res->status;
}

const struct command cmd_worker = {
	.name = "worker",
	.op = &op_worker,
	.live = true,
	.row = print_row,
	.result = print_result,
};
