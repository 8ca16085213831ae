/*
 * regex - pcre2 with match limits, so that no pattern can run away.
 *
 * The only file that includes pcre2.  A compiled regex may be used by one
 * thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/str.h"

enum regex_flags {
	REGEX_IGNORE_CASE = 1 << 0,
	REGEX_LITERAL = 1 << 1, /* the pattern is a plain string */
};

#define REGEX_PATTERN_MAX 65536
#define REGEX_MATCH_LIMIT 1000000 /* pcre2 match steps for one line */

struct regex;

/*
 * A pattern that is not UTF-8 is matched byte by byte.  ERR_INVALID names the offset of a mistake
 * in the pattern; ERR_LIMIT: it is longer than REGEX_PATTERN_MAX.
 */
struct regex *regex_new(struct str pattern, unsigned flags, struct err *err); /* NULL on error */
void regex_free(struct regex *regex);
void regex_freep(struct regex **regex); /* for owned() */

/*
 * 1 match (start, end offsets into text), 0 none, ERR_LIMIT when the match limit is reached.
 * When backtracking reaches it, the text is matched without backtracking (DFA), if the pattern
 * allows that and the text is not long; that finds the longest match instead of the first.
 * A pattern in UTF-8 matches no bytes that are not UTF-8; the text between them is searched.
 */
int regex_find(struct regex *regex, struct str text, size_t *start, size_t *end, struct err *err);
