/*
 * output - prints results and messages for people.  Data goes to stdout, and messages go to stderr.
 */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "core/json.h"
#include "ops/movement.h"
#include "ops/noderow.h"
#include "ops/nodetrace.h"

struct output {
	bool json; /* with --json, the operation's own functions write the result */
	bool jsonl;
	bool colour; /* stdout is a terminal and NO_COLOR is not set */
	bool bar;    /* progress is shown, because stderr is a terminal */
	bool bar_shown;
	unsigned table; /* number of lines of the table on stderr; 0: no table is shown */
	int64_t now;
	struct json writer;
	/* for log --graph: for each column, the id of the node that the column waits for */
	char **graph;
	size_t n_graph;
};

void output_init(struct output *out);
void output_release(struct output *out);

/* Write bytes to stdout.  This is the sink of a struct json. */
int output_json(void *arg, const char *bytes, size_t len);

/*
 * Print a name or a text that comes from outside strata.  The name or text is quoted, so that it
 * cannot control the terminal.
 */
void output_name(struct str name);
void output_text(struct str text);
void output_say(struct str text); /* like output_text, but on stderr */

enum output_style { OUTPUT_PLAIN, OUTPUT_ID, OUTPUT_GOOD, OUTPUT_BAD, OUTPUT_DIM, OUTPUT_BOLD };
void output_style(struct output *out, enum output_style style);

/* Print a line for each bind.  Each line begins with 'label'. */
void output_binds(const char *label, const struct node_bind *binds, size_t n);
/* Print a line for each denial.  Each line begins with 'label', except for the line of a grant. */
void output_denials(const char *label, const struct node_denial *denials, size_t n);
/*
 * Print each line of a text on stderr, as a message of strata.  Prints nothing if 'text' is NULL.
 */
void output_lines(const char *text);
/*
 * Print on stderr which accesses were denied, and how to allow them.  Only the first
 * OUTPUT_DENIED_MAX denials get a line each.
 */
#define OUTPUT_DENIED_MAX 20
void output_denied(const struct node_denial *denials, size_t n);
/*
 * Print a line for each of n changed paths.  If 'total' is greater than n, one more line has the
 * number of the remaining paths.
 */
void output_paths(const struct node_path *paths, size_t n, uint64_t total);
/* Print counts of changes, such as "+3 ~1 -2".  Prints nothing if nothing has changed. */
void output_counts(const struct treediff_counts *counts);
/* Print a node on one line, in the format of log. */
void output_node_line(struct output *out, const struct noderow *row);

/* Print the files that a node's command has read and written, if they are known. */
void output_trace(const struct nodetrace *trace);

/* Print the result of a command that has moved HEAD.  Returns the exit status. */
int output_moved(struct output *out, const void *request, const void *result);

/* Print the warnings of a completed operation on stderr. */
void output_warnings(const char *const *texts, size_t n);
/* Print on stderr the files that could not be read or written as they should be. */
void output_report(const struct report *report);
/* Print "strata: WHAT: WHY" and the hint on stderr. */
void output_error(const struct err *err);
void output_progress(struct output *out, const char *stage, uint64_t done, uint64_t total);

/*
 * Print one more line of the table on stderr.  The line is cut at the width of the terminal.
 * Control characters are printed as in output_text.
 */
void output_table_line(struct output *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Clear the table on stderr, so that it can be drawn again or other text can be printed. */
void output_table_clear(struct output *out);
