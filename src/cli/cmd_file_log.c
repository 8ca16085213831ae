/* file-log - list every version of one path. */
#include "cli/command.h"
#include "core/when.h"
#include "history/node.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct lineage_version *version = row;
	char time[40], hex[HASH_HEX];

	output_style(out, OUTPUT_ID);
	printf("%s", version->snapshot->name);
	output_style(out, OUTPUT_PLAIN);
	printf("  %s  ", when_local(version->snapshot->creation, time));
	if (!version->present) {
		printf("gone");
	} else {
		printf("%s %04o %10llu", entry_type_name(version->entry->type),
			version->entry->mode, (unsigned long long)version->entry->size);
		if (!hash_is_none(&version->entry->hash))
			printf("  %.12s", hash_hex(&version->entry->hash, hex));
	}
	printf("  ");
	output_text(version->snapshot->node->message);
	putchar('\n');
}

const struct command cmd_file_log = {
	.name = "file-log",
	.op = &op_file_log,
	.row = print_row,
};
