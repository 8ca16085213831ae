/* trace diff - print the changes of a traced command as a unified diff. */
#include "cli/command.h"
#include "ops/bundles.h"
#include "ops/table.h"

static void print_mode(const char *gap, const struct bundle_file *file)
{
	printf("%smode %04o -> %04o", gap, file->state[BUNDLE_BEFORE].mode,
		file->state[BUNDLE_AFTER].mode);
}

static void print_target(const char *gap, const struct bundle_file *file)
{
	printf("%s", gap);
	output_name(file->state[BUNDLE_BEFORE].target);
	printf(" -> ");
	output_name(file->state[BUNDLE_AFTER].target);
}

static void print_type(const char *gap, const struct bundle_file *file)
{
	printf("%s%s -> %s", gap, bundle_type_name(file->state[BUNDLE_BEFORE].type),
		bundle_type_name(file->state[BUNDLE_AFTER].type));
}

/*
 * Print the changes other than those of content and time.  The patch shows the content, and new
 * content always has a new time.  Returns whether anything was printed.
 */
static bool print_what(const struct diff_bundle_row *diff)
{
	unsigned what = diff->what & ~(unsigned)(BUNDLE_CHANGED_MTIME | BUNDLE_CHANGED_CONTENT);
	const char *gap = "  (";

	for (unsigned i = 0; i < BUNDLE_CHANGES; i++) {
		unsigned bit = 1u << i;

		if (!(what & bit))
			continue;
		if (bit == BUNDLE_CHANGED_MODE)
			print_mode(gap, diff->file);
		else if (bit == BUNDLE_CHANGED_TARGET)
			print_target(gap, diff->file);
		else if (bit == BUNDLE_CHANGED_TYPE)
			print_type(gap, diff->file);
		else
			printf("%s%s", gap, bundle_change_name(bit));
		gap = ", ";
	}
	if (gap[0] == ',')
		putchar(')');
	return gap[0] == ',';
}

static void print_head(struct output *out, const struct diff_bundle_row *diff)
{
	const struct bundle_state *made = &diff->file->state[BUNDLE_AFTER];

	output_style(out, diff->op == '-' ? OUTPUT_BAD : diff->op == '+' ? OUTPUT_GOOD : OUTPUT_ID);
	printf("%c\t", diff->op);
	output_name(diff->file->path);
	output_style(out, OUTPUT_PLAIN);
	if (diff->op == '+' && made->type == BUNDLE_LINK) {
		printf(" -> ");
		output_name(made->target);
	}
	if (diff->op == '~')
		(void)print_what(diff);
	else if (!diff->patch.len)
		printf("  (%s)",
			bundle_type_name(diff->op == '+' ? made->type
							 : diff->file->state[BUNDLE_BEFORE].type));
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct diff_bundle_row *diff = row;
	unsigned besides = diff->what & ~(unsigned)(BUNDLE_CHANGED_MTIME | BUNDLE_CHANGED_CONTENT);

	if (!diff->patch.len || (diff->op == '~' && besides)) {
		print_head(out, diff);
		if (diff->binary)
			printf("  (binary or large content differs)");
		if (diff->lacks) {
			printf("  (");
			output_text(str_of(diff->lacks));
			putchar(')');
		}
		putchar('\n');
	}
	fwrite(diff->patch.ptr, 1, diff->patch.len, stdout);
}

const struct command trace_diff = {
	.name = "diff",
	.op = &op_diff_bundle,
	.row = print_row,
};
