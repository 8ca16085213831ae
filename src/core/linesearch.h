/*
 * linesearch - the lines of a text that a pattern matches.
 *
 * The answers are those of regex_find for each line alone, without "\n" or "\r\n" at its end.  Most
 * lines are passed over quicker: where every match contains a certain text, lines without it are
 * not tried; where the pattern allows, many lines are searched in one go.
 */
#pragma once
#include "core/buf.h"
#include "core/regex.h"

struct linesearch;

struct linesearch *linesearch_new(struct str pattern, struct err *err); /* NULL on error */
void linesearch_free(struct linesearch *search);
void linesearch_freep(struct linesearch **search);

/*
 * The first matching line at or behind *at, which is where a line begins.  1: *line, which has no
 * end of line, and *at is behind it; 0: there is none.  ERR_LIMIT: the line takes too many steps;
 * *at is behind it.
 */
int linesearch_next(
	struct linesearch *search, struct str text, size_t *at, struct str *line, struct err *err);

/* The text that every match of a pattern contains; empty: not known.  *all: the pattern is just
 * this text.  out takes it. */
void linesearch_required(struct str pattern, struct buf *out, bool *all);
