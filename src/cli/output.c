#include "cli/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/own.h"
#include "core/text.h"
#include "core/when.h"

#define REPORT_SHOWN 20
#define DEFAULT_COLUMNS 80
#define LINE_MAX_BYTES 4096

void output_init(struct output *out)
{
	const char *no_colour = getenv("NO_COLOR");

	*out = (struct output){ .writer = JSON_INIT };
	out->colour = isatty(STDOUT_FILENO) && !(no_colour && *no_colour);
	out->bar = isatty(STDERR_FILENO);
	out->now = when_now();
}

void output_release(struct output *out)
{
	for (size_t i = 0; i < out->n_graph; i++)
		free(out->graph[i]);
	free(out->graph);
	json_release(&out->writer);
}

int output_json(void *arg, const char *bytes, size_t len)
{
	return fwrite(bytes, 1, len, stdout) == len ? 0 : -1;
}

void output_name(struct str name)
{
	struct buf text = BUF_INIT;

	text_quote(&text, name.len ? name : STR("."));
	fwrite(text.data, 1, text.len, stdout);
	buf_release(&text);
}

/* Print a line of content or a message.  Control characters are printed as octal numbers. */
static void print_text(FILE *to, struct str text)
{
	for (size_t i = 0; i < text.len;) {
		size_t n = text_utf8_length((struct str){ text.ptr + i, text.len - i });
		unsigned char c = (unsigned char)text.ptr[i];

		if ((n == 1 && (c >= ' ' || c == '\t') && c != 0x7f) ||
			(n > 1 && !(c == 0xc2 && (unsigned char)text.ptr[i + 1] < 0xa0)))
			fwrite(text.ptr + i, 1, n, to);
		else
			fprintf(to, "\\%03o", c), n = 1;
		i += n;
	}
}

void output_text(struct str text)
{
	print_text(stdout, text);
}

void output_say(struct str text)
{
	print_text(stderr, text);
}

void output_style(struct output *out, enum output_style style)
{
	static const char *const codes[] = { "\033[0m", "\033[33m", "\033[32m", "\033[31m",
		"\033[2m", "\033[1m" };

	if (out->colour)
		fputs(codes[style], stdout);
}

void output_binds(const char *label, const struct node_bind *binds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		printf("%s", label);
		output_name(binds[i].inside);
		printf(" is the host's ");
		output_name(binds[i].host);
		printf("%s\n",
			binds[i].read_only ? ", read-only" : ": changes there are in no node");
	}
}

/*
 * Whether a denial is only a note.  The list of denials also has notes that explain denials.  A
 * note says that a right was granted or revoked while the command ran, or that the command's warden
 * has ended.
 */
static bool is_note(const struct node_denial *denial)
{
	return str_eq(denial->what, STR("grant")) || str_eq(denial->what, STR("revoke")) ||
	       str_eq(denial->what, STR("warden"));
}

/* Whether an entry of the list is the number of the denials that are not listed. */
static bool is_number(const struct node_denial *denial)
{
	return str_eq(denial->what, STR("more"));
}

void output_denials(const char *label, const struct node_denial *denials, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		printf("%s", is_note(&denials[i]) ? "" : label);
		output_name(denials[i].what);
		printf("%*s", is_note(&denials[i]) ? (int)(strlen(label) - denials[i].what.len) : 1,
			"");
		output_name(denials[i].subject);
		printf(" (");
		output_name(denials[i].rule);
		putchar(')');
		if (denials[i].times > 1)
			printf(", %llu times", (unsigned long long)denials[i].times);
		putchar('\n');
	}
}

void output_lines(const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		fprintf(stderr, "strata: %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void say_denial(const struct node_denial *denial)
{
	owned(buf_release) struct buf line = BUF_INIT;

	if (is_number(denial)) {
		buf_addf(&line, "%llu ", (unsigned long long)denial->times);
		text_quote(&line, denial->subject);
		buf_adds(&line, "\nstrata: reason: ");
		text_quote(&line, denial->rule);
		fprintf(stderr, "strata: %s\n", line.data);
		return;
	}
	text_quote(&line, denial->what);
	buf_addc(&line, ' ');
	text_quote(&line, denial->subject);
	buf_adds(&line, " (");
	text_quote(&line, denial->rule);
	buf_adds(&line, ")");
	if (denial->times > 1)
		buf_addf(&line, ", %llu times", (unsigned long long)denial->times);
	if (denial->remedy.len) {
		buf_adds(&line, "; to allow it, ");
		text_quote(&line, denial->remedy);
	}
	fprintf(stderr, "strata: %s%s\n", is_note(denial) ? "" : "denied: ", line.data);
}

void output_denied(const struct node_denial *denials, size_t n)
{
	size_t rest = 0;

	for (size_t i = 0; i < n; i++) {
		if (i < OUTPUT_DENIED_MAX || is_number(&denials[i]))
			say_denial(&denials[i]);
		else
			rest++;
	}
	if (rest)
		fprintf(stderr, "strata: denied: %zu more; 'strata show' lists them\n", rest);
}

void output_paths(const struct node_path *paths, size_t n, uint64_t total)
{
	for (size_t i = 0; i < n; i++) {
		printf("  %c ", paths[i].op);
		output_name(paths[i].path);
		if (paths[i].op == 'R') {
			printf(" -> ");
			output_name(paths[i].new_path);
		}
		putchar('\n');
	}
	if (total > n && n)
		printf("  and %llu more\n", (unsigned long long)(total - n));
}

void output_counts(const struct treediff_counts *counts)
{
	const char *gap = "";

	if (counts->added)
		printf("%s+%llu", gap, (unsigned long long)counts->added), gap = " ";
	if (counts->modified)
		printf("%s~%llu", gap, (unsigned long long)counts->modified), gap = " ";
	if (counts->deleted)
		printf("%s-%llu", gap, (unsigned long long)counts->deleted), gap = " ";
	if (counts->renamed)
		printf("%s>%llu", gap, (unsigned long long)counts->renamed);
}

void output_node_line(struct output *out, const struct noderow *row)
{
	const struct node *node = row->node;
	struct str first = node->message;
	const char *newline = first.len ? memchr(first.ptr, '\n', first.len) : NULL;
	char time[40];

	if (newline)
		first.len = (size_t)(newline - first.ptr);
	output_style(out, OUTPUT_ID);
	printf("%s", node->id);
	output_style(out, OUTPUT_PLAIN);
	printf("  %s  %-8s  ", when_local(node->time, time), node_kind_name(node->kind));
	output_text(first);
	if (node->counts.added || node->counts.modified || node->counts.deleted ||
		node->counts.renamed) {
		printf("  [");
		output_counts(&node->counts);
		printf("]");
	}
	if (node->has_status && node->exit_status)
		printf("  exit %d", node->exit_status);
	if (row->head || row->n_tags) {
		const char *gap = "  (";

		output_style(out, OUTPUT_GOOD);
		if (row->head)
			printf("%sHEAD", gap), gap = ", ";
		for (size_t i = 0; i < row->n_tags; i++)
			printf("%s%s", gap, row->tags[i]), gap = ", ";
		printf(")");
		output_style(out, OUTPUT_PLAIN);
	}
	putchar('\n');
}

#define TRACED_PATHS 20 /* maximum number of paths printed for each list; --json prints all */

static void print_traced(char letter, const struct str *paths, size_t n)
{
	for (size_t i = 0; i < n && i < TRACED_PATHS; i++) {
		printf("  %c ", letter);
		output_name(paths[i]);
		putchar('\n');
	}
	if (n > TRACED_PATHS)
		printf("  %c and %zu more\n", letter, n - TRACED_PATHS);
}

void output_trace(const struct nodetrace *trace)
{
	if (!trace->found)
		return;
	printf("trace    read %zu, wrote %zu%s\n", trace->n_read, trace->n_written,
		trace->complete ? "" : ", incomplete");
	print_traced('w', trace->written, trace->n_written);
	print_traced('r', trace->read, trace->n_read);
}

/* Warn the user if undo or redo has skipped states that were deleted. */
static void say_passed(const struct history_passed *passed)
{
	char text[HISTORY_PASSED_TEXT];

	if (passed->count)
		fprintf(stderr, "strata: passed over: %s\n", history_passed_text(passed, text));
}

int output_moved(struct output *out, const void *request, const void *result)
{
	const struct movement *moved = result;

	const uint64_t *count = moved->report->count;
	int status = count[REPORT_DAMAGED] || count[REPORT_UNRESTORED] ? 1 : 0;

	say_passed(&moved->passed);
	if (out->json)
		return status;
	if (moved->safety)
		printf("uncaptured work is kept in %s\n", moved->saved);
	printf("HEAD is now %s  ", moved->node.id);
	output_text(moved->node.message);
	printf("  [");
	output_counts(&moved->changes);
	printf("]\n");
	return status;
}

void output_warnings(const char *const *texts, size_t n)
{
	fflush(stdout);
	for (size_t i = 0; i < n; i++) {
		fprintf(stderr, "strata: warning: ");
		output_say(str_of(texts[i]));
		fputc('\n', stderr);
	}
}

void output_report(const struct report *report)
{
	static const char *const texts[REPORT_KINDS] = {
		[REPORT_UNREADABLE] = "could not be read and was recorded without content",
		[REPORT_VANISHED] = "vanished while it was looked at",
		[REPORT_CHANGING] = "kept changing while it was read",
		[REPORT_UNRESTORED] = "could not be restored",
		[REPORT_DAMAGED] = "is damaged in the store and was not restored",
		[REPORT_LOGICAL] = "is kept in the history only",
		[REPORT_LEFT_OUT] = "was left out",
		[REPORT_ALTERED] = "is kept otherwise than it was",
		[REPORT_UNREMOVED] = "could not be removed",
		[REPORT_MAPPED] = "may be changed at any moment",
		[REPORT_UNSEARCHED] = "was not searched as a whole",
	};
	size_t shown = 0;

	for (size_t i = 0; i < report->n_items && shown < REPORT_SHOWN; i++) {
		const struct report_item *item = &report->items[i];
		struct buf path = BUF_INIT;

		if (item->kind == REPORT_LOGICAL)
			continue;
		fputs("strata: ", stderr);
		text_quote(&path, item->path.len ? item->path : STR("."));
		if (item->kind != REPORT_COMPLETED)
			fprintf(stderr, "%s %s: ", path.data,
				texts[item->kind] ? texts[item->kind]
						  : report_kind_name(item->kind));
		print_text(stderr, str_of(item->what));
		fputc('\n', stderr);
		buf_release(&path);
		shown++;
	}
	uint64_t total = 0;
	for (int kind = 0; kind < REPORT_KINDS; kind++)
		total += kind == REPORT_LOGICAL ? 0 : report->count[kind];
	if (total > shown)
		fprintf(stderr, "strata: and %llu more\n", (unsigned long long)(total - shown));
	if (report->count[REPORT_LOGICAL])
		fprintf(stderr,
			"strata: %llu owners or device nodes cannot be set by this user and are "
			"kept "
			"in the history\n",
			(unsigned long long)report->count[REPORT_LOGICAL]);
}

void output_error(const struct err *err)
{
	/*
	 * The message may contain control characters of an argument or a file name.  So print it
	 * like any text from outside strata.
	 */
	fputs("strata: ", stderr);
	print_text(stderr, str_of(err->text));
	fputc('\n', stderr);
	if (!err->hint[0] || err->code == ERR_USAGE)
		return;
	fputs("hint: ", stderr);
	print_text(stderr, str_of(err->hint));
	fputc('\n', stderr);
}

void output_progress(struct output *out, const char *stage, uint64_t done, uint64_t total)
{
	if (!out->bar)
		return;
	if (!stage) {
		if (out->bar_shown)
			fprintf(stderr, "\r\033[K");
		out->bar_shown = false;
		return;
	}
	out->bar_shown = true;
	if (total >= done && total)
		fprintf(stderr, "\r\033[K%s %llu of %llu (%llu %%)", stage,
			(unsigned long long)done, (unsigned long long)total,
			(unsigned long long)(100 * done / total));
	else
		fprintf(stderr, "\r\033[K%s %llu", stage, (unsigned long long)done);
	fflush(stderr);
}

static size_t terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
									   : DEFAULT_COLUMNS;
}

void output_table_line(struct output *out, const char *fmt, ...)
{
	owned(buf_release) struct buf text = { .max = LINE_MAX_BYTES };
	size_t columns = terminal_columns(), at = 0, used = 0;
	va_list ap;

	va_start(ap, fmt);
	buf_addv(&text, fmt, ap);
	va_end(ap);
	/*
	 * Cut the line at the width of the terminal, because a line that wraps could not be
	 * cleared.  Each character is assumed to have the greatest possible width.
	 */
	while (at < text.len) {
		size_t n = text_utf8_length((struct str){ text.data + at, text.len - at });
		bool plain = n == 1 && text.data[at] >= ' ' && text.data[at] != 0x7f;
		size_t width = plain ? 1 : n > 1 ? 2 : 4;

		if (used + width >= columns)
			break;
		used += width;
		at += n ? n : 1;
	}
	print_text(stderr, (struct str){ text.data, at });
	fputc('\n', stderr);
	out->table++;
}

void output_table_clear(struct output *out)
{
	if (!out->table)
		return;
	fprintf(stderr, "\033[%uA\r\033[J", out->table);
	out->table = 0;
	fflush(stderr);
}
