/* blame - print which node last changed a path, and which node last changed each of its lines. */
#include "cli/command.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct lineage_line *line = row;
	char time[40];

	output_style(out, OUTPUT_ID);
	printf("%s", line->snapshot);
	output_style(out, OUTPUT_PLAIN);
	printf(" %s %5llu  ", when_local(line->creation, time), (unsigned long long)line->line);
	output_text(line->text);
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct blame_result *res = result;

	if (out->json)
		return 0;
	printf("%s by ", res->present ? "last changed" : "deleted");
	output_node_line(out, &res->last);
	if (res->last.node->n_command) {
		printf("command ");
		for (size_t i = 0; i < res->last.node->n_command; i++) {
			putchar(' ');
			output_name(res->last.node->command[i]);
		}
		putchar('\n');
	}
	output_trace(&res->trace);
	return 0;
}

const struct command cmd_blame = {
	.name = "blame",
	.op = &op_blame,
	.row = print_row,
	.result = print_result,
};
