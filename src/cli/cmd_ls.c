/* ls - list a directory of a node or of the live tree. */
#include "cli/command.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	static const char types[] = "?-dlpscb";
	const struct ls_row *ls = row;
	const struct entry *entry = ls->entry;
	char time[40];
	int64_t mtime = entry->mtime_sec * WHEN_SECOND;

	printf("%c%04o %5u %5u %10llu %s  ", types[entry->type], entry->mode, entry->uid,
		entry->gid, (unsigned long long)entry->size, when_local(mtime, time));
	output_name(ls->path);
	if (entry->type == ENTRY_LINK) {
		printf(" -> ");
		output_name(entry->target);
	}
	putchar('\n');
}

const struct command cmd_ls = {
	.name = "ls",
	.op = &op_ls,
	.row = print_row,
};
