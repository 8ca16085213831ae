/*
 * linesearch - finds the lines of a text that a pattern matches.
 *
 * The result is the same as if regex_find searched each line alone, without its line end.  Most
 * lines are skipped without such a search.  If every match must contain a certain text, lines
 * without this text are skipped.  Otherwise, if the pattern allows it, one call searches many
 * lines.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/regex.h"

enum linesearch_flags {
	LINESEARCH_IGNORE_CASE = 1 << 0,
	LINESEARCH_LITERAL = 1 << 1, /* the pattern is a plain string */
	LINESEARCH_DROP_CR = 1 << 2, /* a line ends not only at "\n", but also at "\r\n" */
};

struct linesearch;

struct linesearch_hit {
	struct str line;   /* the line without its line end */
	size_t start, end; /* offsets of the match in 'line' */
};

/* Returns NULL on error. */
struct linesearch *linesearch_new(struct str pattern, unsigned flags, struct err *err);
/* Compile the same pattern again, for another thread.  Returns NULL on error. */
struct linesearch *linesearch_again(const struct linesearch *search, struct err *err);
void linesearch_free(struct linesearch *search);
void linesearch_freep(struct linesearch **search);

/*
 * Find the first line that matches, at or after the position *at.  A line must begin at *at.
 * Returns 1 and sets *hit; 0 if no line matches; or ERR_LIMIT if a line takes too many steps to
 * match.  If the result is 1 or ERR_LIMIT, hit->line becomes that line, and *at the position behind
 * it.
 */
int linesearch_next(struct linesearch *search, struct str text, size_t *at,
	struct linesearch_hit *hit, struct err *err);

/* Returns the number of newlines between the pointers 'from' and 'to'. */
uint64_t linesearch_count(const char *from, const char *to);

/*
 * Set 'out' to a text that every match of the pattern contains.  If no such text is known, 'out'
 * stays empty.  *all becomes true if the pattern consists only of this text.
 */
void linesearch_required(struct str pattern, struct buf *out, bool *all);
