/*
 * output - print what people are to see.  Data goes to stdout, and messages for people go to
 * stderr.
 */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "core/json.h"
#include "ops/movement.h"
#include "ops/noderow.h"
#include "ops/nodetrace.h"

struct output {
	bool json; /* --json: the operation's own functions write the result */
	bool jsonl;
	bool colour; /* stdout is a terminal and NO_COLOR is not set */
	bool bar;    /* stderr is a terminal: show progress */
	bool bar_shown;
	unsigned table; /* lines of the table on stderr, which will be drawn again */
	int64_t now;
	struct json writer;
	char **graph; /* log --graph: which id each column waits for */
	size_t n_graph;
};

void output_init(struct output *out);
void output_release(struct output *out);

/* The sink of a struct json that goes to stdout. */
int output_json(void *arg, const char *bytes, size_t len);

/* Print a name or a text from outside, quoted so that it cannot drive a terminal. */
void output_name(struct str name);
void output_text(struct str text);
void output_say(struct str text); /* as output_text, on stderr */

enum output_style { OUTPUT_PLAIN, OUTPUT_ID, OUTPUT_GOOD, OUTPUT_BAD, OUTPUT_DIM, OUTPUT_BOLD };
void output_style(struct output *out, enum output_style style);

/* Print a line for each bind, after label. */
void output_binds(const char *label, const struct node_bind *binds, size_t n);
/* Print a line for each denial, after label. */
void output_denials(const char *label, const struct node_denial *denials, size_t n);
/* Print each line of a text on stderr, as a message of strata; NULL: nothing. */
void output_lines(const char *text);
/*
 * Print on stderr what was denied and what would allow it: a line for each of the first
 * OUTPUT_DENIED_MAX denials.
 */
#define OUTPUT_DENIED_MAX 20
void output_denied(const struct node_denial *denials, size_t n);
/*
 * Print a line for each of n changed paths.  If total is larger, print one more line with the
 * number of the others.
 */
void output_paths(const struct node_path *paths, size_t n, uint64_t total);
/* Print "+3 ~1 -2", or nothing if nothing changed. */
void output_counts(const struct treediff_counts *counts);
/* Print a node in one line, as log does. */
void output_node_line(struct output *out, const struct noderow *row);

/* Print the files that a node's command read and wrote, if they are known. */
void output_trace(const struct nodetrace *trace);

/* Print the result of a command that moved HEAD.  Returns the exit status. */
int output_moved(struct output *out, const void *request, const void *result);

/* Print the warnings of an operation that was done, on stderr. */
void output_warnings(const char *const *texts, size_t n);
/* Print the files that were not handled as asked, on stderr. */
void output_report(const struct report *report);
/* Print "strata: WHAT: WHY" and the hint on stderr. */
void output_error(const struct err *err);
void output_progress(struct output *out, const char *stage, uint64_t done, uint64_t total);

/*
 * Print one more line of a table on stderr, cut off at the width of the terminal.  Text is shown as
 * by output_text.
 */
void output_table_line(struct output *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Clear the table on stderr, to draw it again or to print something else. */
void output_table_clear(struct output *out);
