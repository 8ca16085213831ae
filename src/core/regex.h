/*
 * regex - regular expressions of pcre2, with limits that keep any pattern from taking too long.
 *
 * Only regex.c uses pcre2.  Only one thread at a time may use a compiled regex.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/str.h"

enum regex_flags {
	REGEX_IGNORE_CASE = 1 << 0,
	REGEX_LITERAL = 1 << 1, /* the pattern is a plain string */
	REGEX_LINES = 1 << 2,   /* the text has many lines: '^' and '$' match at each line */
};

#define REGEX_PATTERN_MAX 65536
#define REGEX_MATCH_LIMIT 1000000 /* pcre2 match steps for one line */

struct regex;

/*
 * Compile a pattern.  A pattern that is not UTF-8 is matched byte by byte.  The message of
 * ERR_INVALID contains the offset of the mistake in the pattern.  ERR_LIMIT means that the pattern
 * is longer than REGEX_PATTERN_MAX.
 */
struct regex *regex_new(struct str pattern, unsigned flags, struct err *err); /* NULL on error */
void regex_free(struct regex *regex);
void regex_freep(struct regex **regex); /* for owned() */

/*
 * Find a match in a text.  Returns 1 and sets *start and *end, which are offsets in the text; 0 if
 * there is no match; or ERR_LIMIT.
 *
 * When backtracking reaches the match limit, the text is matched again without backtracking (DFA).
 * A DFA finds the longest match instead of the first.  If a DFA cannot match the pattern, or if the
 * text is long, the result is ERR_LIMIT.
 *
 * A pattern in UTF-8 matches only valid UTF-8.  Invalid bytes are skipped, and the text between
 * them is searched.
 */
int regex_find(struct regex *regex, struct str text, size_t *start, size_t *end, struct err *err);
