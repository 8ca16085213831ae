/*
 * output - what people see: stdout is data, stderr is for people.
 */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "core/json.h"
#include "ops/movement.h"
#include "ops/noderow.h"
#include "ops/nodetrace.h"

struct output {
	bool json; /* --json: results are printed by the operation's own description */
	bool jsonl;
	bool colour; /* stdout is a terminal and NO_COLOR is not set */
	bool bar;    /* stderr is a terminal: show progress */
	bool bar_shown;
	unsigned table; /* lines on stderr that will be drawn again */
	int64_t now;
	struct json writer;
	char **graph; /* log --graph: which id each column waits for */
	size_t n_graph;
};

void output_init(struct output *out);
void output_release(struct output *out);

/* The sink of a struct json that goes to stdout. */
int output_json(void *arg, const char *bytes, size_t len);

/* Names and text from outside, quoted so that they cannot drive a terminal. */
void output_name(struct str name);
void output_text(struct str text);
void output_say(struct str text); /* as output_text, on stderr */

enum output_style { OUTPUT_PLAIN, OUTPUT_ID, OUTPUT_GOOD, OUTPUT_BAD, OUTPUT_DIM, OUTPUT_BOLD };
void output_style(struct output *out, enum output_style style);

/* A line for each bind, after label. */
void output_binds(const char *label, const struct node_bind *binds, size_t n);
/* A line for each changed path, and one for those of total that are not listed. */
void output_paths(const struct node_path *paths, size_t n, uint64_t total);
/* "+3 ~1 -2", nothing for no change. */
void output_counts(const struct treediff_counts *counts);
/* One node in one line, as log does. */
void output_node_line(struct output *out, const struct noderow *row);

/* Print the files that a node's command read and wrote, where they are known. */
void output_trace(const struct nodetrace *trace);

/* A command's result function for movements of HEAD. */
int output_moved(struct output *out, const void *request, const void *result);

/* Print the files that were not handled as asked, on stderr. */
void output_report(const struct report *report);
/* "strata: WHAT: WHY" and the hint, on stderr. */
void output_error(const struct err *err);
void output_progress(struct output *out, const char *stage, uint64_t done, uint64_t total);

/* One more line of a table on stderr, cut off where the terminal ends; text as output_text has it.
 */
void output_table_line(struct output *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Take the table back, to draw it again or to print something else. */
void output_table_clear(struct output *out);
