/* show - print everything about one node. */
#include "cli/command.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_command(const struct node *node)
{
	printf("command ");
	for (size_t i = 0; i < node->n_command; i++) {
		putchar(' ');
		output_name(node->command[i]);
	}
	if (node->has_status)
		printf("  (exit %d, %.3f s)", node->exit_status, (double)node->duration / 1e9);
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct show_result *res = result;
	const struct noderow *row = &res->node;
	const struct node *node = row->node;
	char hex[HASH_HEX], time[40], ago[40];

	if (out->json)
		return 0;
	output_style(out, OUTPUT_ID);
	printf("node     %s%s\n", node->id, row->head ? " (HEAD)" : "");
	output_style(out, OUTPUT_PLAIN);
	if (node->parent[0])
		printf("parent   %s\n", node->parent);
	printf("tree     %s\n", hash_hex(&node->tree, hex));
	printf("time     %s (%s)\n", when_iso(node->time, time),
		when_relative(node->time, out->now, ago));
	printf("kind     %s\n", node_kind_name(node->kind));
	for (size_t i = 0; i < row->n_tags; i++)
		printf("tag      %s\n", row->tags[i]);
	if (node->n_command)
		print_command(node);
	output_binds("bound    ", node->binds, node->n_binds);
	output_denials("denied   ", node->denials, node->n_denials);
	printf("message  ");
	output_text(node->message);
	printf("\nchanges  ");
	output_counts(&node->counts);
	putchar('\n');
	uint64_t total = node->counts.added + node->counts.modified + node->counts.deleted +
			 node->counts.renamed;
	output_paths(node->paths, node->n_paths, total);
	output_trace(&res->trace);
	return 0;
}

const struct command cmd_show = {
	.name = "show",
	.op = &op_show,
	.result = print_result,
};
