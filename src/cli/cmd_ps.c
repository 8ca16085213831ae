/* ps - list the processes of the workspace. */
#include "cli/command.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct ps_row *item = row;
	char ago[40];

	printf("%d", item->pid);
	if (item->host_pid)
		printf(" (host %d)", item->host_pid);
	printf("  uid %u  %s ", item->uid, when_relative(item->started, out->now, ago));
	for (size_t i = 0; i < item->argv.count; i++) {
		putchar(' ');
		output_name(str_of(item->argv.list[i]));
	}
	putchar('\n');
}

const struct command cmd_ps = {
	.name = "ps",
	.op = &op_ps,
	.row = print_row,
};
