/* trace show - describe a bundle: the command that was run, and the paths that it used. */
#include <string.h>

#include "cli/command.h"
#include "core/text.h"
#include "core/when.h"
#include "ops/bundles.h"
#include "ops/table.h"

#define INDENT 2

/*
 * Print a word approximately as a user would type it in a shell.  A word that contains a space is
 * quoted.
 */
static void print_word(struct str word)
{
	bool quotes = !word.len || memchr(word.ptr, ' ', word.len);

	if (quotes && text_is_utf8(word)) {
		putchar('"');
		output_text(word);
		putchar('"');
	} else {
		output_name(word);
	}
}

static void print_head(struct output *out, const struct show_bundle_result *res)
{
	printf("command    ");
	output_style(out, OUTPUT_BOLD);
	for (size_t i = 0; i < res->n_command; i++) {
		if (i)
			putchar(' ');
		print_word(res->command[i]);
	}
	output_style(out, OUTPUT_PLAIN);
	printf("\nin         ");
	output_name(res->cwd);
	putchar('\n');
	if (res->has_status)
		printf("exit       %lld\n", (long long)res->exit_status);
	if (res->started && res->ended >= res->started) {
		char time[40];

		printf("ran        %s, %.3f s\n", when_local(res->started, time),
			(double)(res->ended - res->started) / (double)WHEN_SECOND);
	}
	if (res->engine.len) {
		printf("engine     ");
		output_text(res->engine);
		putchar('\n');
	}
	if (res->has_complete)
		printf("complete   %s\n", res->complete ? "yes" : "no");
	for (size_t i = 0; i < res->n_reasons; i++) {
		printf("           ");
		output_text(res->reasons[i]);
		putchar('\n');
	}
	for (size_t i = 0; i < res->n_repositories; i++) {
		printf("git        ");
		output_name(res->repositories[i].root);
		printf(" at %.12s\n", res->repositories[i].head.ptr);
	}
	printf("paths      %llu (+%llu ~%llu -%llu), %llu contents saved\n",
		(unsigned long long)res->files, (unsigned long long)res->created,
		(unsigned long long)res->changed, (unsigned long long)res->deleted,
		(unsigned long long)res->blobs);
	if (res->processes)
		printf("processes  %llu\n", (unsigned long long)res->processes);
	putchar('\n');
}

static void print_letters(struct output *out, const struct bundle_file *file, char sign)
{
	/* a letter for each operation, in the order of the bits */
	static const char letters[] = "rweldcnxm";

	output_style(out, sign == '+'   ? OUTPUT_GOOD
			  : sign == '-' ? OUTPUT_BAD
			  : sign == '~' ? OUTPUT_ID
					: OUTPUT_PLAIN);
	printf("%c ", sign);
	for (unsigned i = 0; i < BUNDLE_OPERATIONS; i++)
		putchar(!file ? ' ' : file->operations & 1u << i ? letters[i] : '-');
	printf("  ");
}

static void print_name(struct output *out, const struct bundle_file *file, char sign,
	struct str name, int depth, bool dir)
{
	print_letters(out, file, sign);
	printf("%*s", INDENT * depth, "");
	output_name(name);
	if (dir)
		putchar('/');
	output_style(out, OUTPUT_PLAIN);
	putchar('\n');
}

/* Returns the length of the longest beginning that two paths share.  Only whole names count. */
static size_t shared_length(struct str a, struct str b)
{
	size_t shared = 0;

	for (size_t i = 0; i < b.len; i++) {
		if (i >= a.len ? b.ptr[i] != '/' : a.ptr[i] != b.ptr[i])
			break;
		if (i + 1 == b.len || b.ptr[i + 1] == '/')
			shared = i + 1 >= a.len || a.ptr[i + 1] == '/' ? i + 1 : shared;
		if (i >= a.len)
			break;
	}
	return shared;
}

/*
 * Print a line for the path.  If a directory above the path has no line yet, first print a line for
 * this directory.
 */
static void print_row(struct output *out, const void *request, const void *row)
{
	const struct show_bundle_row *show = row;
	const struct bundle_file *file = show->file;
	struct str rest = file->path, name;
	size_t shared = shared_length(show->previous, file->path);
	bool dir = file->state[BUNDLE_BEFORE].type == BUNDLE_DIR ||
		   file->state[BUNDLE_AFTER].type == BUNDLE_DIR;

	if (!show->previous.len)
		print_head(out, show->summary);
	if (file->path.len == 1) {
		print_letters(out, file, show->sign);
		printf("/\n");
		output_style(out, OUTPUT_PLAIN);
		return;
	}
	for (int depth = 0; (name = str_take_name(&rest)).len; depth++) {
		size_t end = (size_t)(name.ptr - file->path.ptr) + name.len;

		if (!rest.len)
			print_name(out, file, show->sign, name, depth, dir);
		else if (end > shared)
			print_name(out, NULL, ' ', name, depth, true);
	}
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct show_bundle_result *res = result;

	if (!out->json && !res->files)
		print_head(out, res);
	return 0;
}

const struct command trace_show = {
	.name = "show",
	.op = &op_show_bundle,
	.row = print_row,
	.result = print_result,
};
