/* diff - print the differences between two nodes, or between a node and the live tree. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_what(const struct treediff_change *change)
{
	const char *gap = "  (";

	/*
	 * Leave out the change of the time if the content has changed, since new content always has
	 * a new time.
	 */
	unsigned what = change->what;
	if (what & (TREEDIFF_CONTENT | TREEDIFF_TARGET | TREEDIFF_TYPE))
		what &= ~(unsigned)TREEDIFF_MTIME;
	if (what == TREEDIFF_CONTENT)
		return;
	for (unsigned bit = 0; bit < TREEDIFF_WHATS; bit++)
		if (what & 1u << bit)
			printf("%s%s", gap, treediff_what_name(1u << bit)), gap = ", ";
	if (gap[0] == ',')
		putchar(')');
}

static void print_change(struct output *out, const struct treediff_change *change)
{
	output_style(out, change->op == '-'   ? OUTPUT_BAD
			  : change->op == '+' ? OUTPUT_GOOD
					      : OUTPUT_ID);
	printf("%c\t", change->op);
	output_name(change->path);
	if (change->op == 'R') {
		printf(" -> ");
		output_name(change->new_path);
	}
	output_style(out, OUTPUT_PLAIN);
}

static void print_patch(struct output *out, const struct diff_row *row)
{
	const struct treediff_change *change = row->change;

	if (row->patch.len) {
		/* A patch shows only the content.  So print the other changes first. */
		if (change->op == 'R' ||
			change->what & ~(unsigned)(TREEDIFF_CONTENT | TREEDIFF_MTIME)) {
			print_change(out, change);
			print_what(change);
			putchar('\n');
		}
		fwrite(row->patch.ptr, 1, row->patch.len, stdout);
		return;
	}
	print_change(out, change);
	if (row->binary)
		printf("  (binary or large content differs)");
	else
		print_what(change);
	putchar('\n');
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct diff_request *req = request;
	const struct diff_row *diff = row;

	if (req->stat)
		return;
	if (req->patch) {
		print_patch(out, diff);
		return;
	}
	print_change(out, diff->change);
	if (!req->name_status)
		print_what(diff->change);
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct diff_request *req = request;
	const struct diff_result *res = result;

	if (!out->json && req->stat)
		printf("%llu added, %llu modified, %llu deleted, %llu renamed\n",
			(unsigned long long)res->counts.added,
			(unsigned long long)res->counts.modified,
			(unsigned long long)res->counts.deleted,
			(unsigned long long)res->counts.renamed);
	return 0;
}

const struct command cmd_diff = {
	.name = "diff",
	.op = &op_diff,
	.row = print_row,
	.result = print_result,
};
