/*
 * linesearch - the lines of a text that a pattern matches.
 *
 * The result is the same as if regex_find searched each line alone, without "\n" or "\r\n" at its
 * end.  Most lines are skipped faster than that.  If every match must contain a certain text, lines
 * without this text are not tried.  Otherwise, if the pattern allows, one call searches many lines.
 */
#pragma once
#include "core/buf.h"
#include "core/regex.h"

struct linesearch;

struct linesearch *linesearch_new(struct str pattern, struct err *err); /* NULL on error */
void linesearch_free(struct linesearch *search);
void linesearch_freep(struct linesearch **search);

/*
 * Find the first matching line from *at on, where a line must begin.  Returns 1 and sets *line,
 * without its line end; 0 if no line matches; or ERR_LIMIT if a line takes too many steps to match.
 * With 1 and ERR_LIMIT, *at becomes the position behind the line.
 */
int linesearch_next(
	struct linesearch *search, struct str text, size_t *at, struct str *line, struct err *err);

/*
 * Put a text that every match of pattern contains into out, or nothing if no such text is known.
 * *all says whether the pattern is nothing but this text.
 */
void linesearch_required(struct str pattern, struct buf *out, bool *all);
