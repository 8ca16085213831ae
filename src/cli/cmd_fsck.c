/* fsck - check the store and the history. */
#include "cli/command.h"
#include "core/text.h"
#include "history/verify.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct verify_error *error = row;

	printf("%s\n", error->what);
	if (!error->total_nodes)
		printf("  touches no node\n");
	else
		printf("  touches %llu node%s:", (unsigned long long)error->total_nodes,
			error->total_nodes == 1 ? "" : "s");
	for (size_t i = 0; i < error->n_nodes; i++)
		printf(" %s", error->nodes[i]);
	if (error->total_nodes > error->n_nodes)
		printf(" ...");
	if (error->total_nodes)
		putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct fsck_result *res = result;
	char bytes[16];

	if (!out->json) {
		if (res->repaired)
			printf("repair: %llu objects brought back, %llu lost, %llu layers to be "
			       "made "
			       "again\n",
				(unsigned long long)res->rescued, (unsigned long long)res->dropped,
				(unsigned long long)res->layers);
		printf("%s: %llu objects, %llu nodes, %s checked", res->ok ? "clean" : "damaged",
			(unsigned long long)res->objects, (unsigned long long)res->nodes,
			text_size(res->bytes, bytes));
		if (res->errors)
			printf(", %llu errors", (unsigned long long)res->errors);
		putchar('\n');
	}
	return res->ok ? 0 : 1;
}

const struct command cmd_fsck = {
	.name = "fsck",
	.op = &op_fsck,
	.row = print_row,
	.result = print_result,
};
