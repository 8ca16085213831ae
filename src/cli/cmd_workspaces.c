/* workspaces - list or delete the live trees of the environment. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct workspaces_row *item = row;

	printf("%s  %-8s  %s%s\n", item->workspace->head, item->workspace->backend,
		item->workspace->name, item->running ? "  (running)" : "");
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct workspaces_result *res = result;

	if (!out->json && res->deleted)
		printf("deleted workspace %s\n", res->deleted);
	return 0;
}

const struct command cmd_workspaces = {
	.name = "workspaces",
	.op = &op_workspaces,
	.row = print_row,
	.result = print_result,
};
