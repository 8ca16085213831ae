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
 * Takes UTF-8 or raw bytes (then bytewise); ERR_INVALID names the offset in the pattern,
 * ERR_LIMIT refuses one longer than REGEX_PATTERN_MAX.
 */
struct regex *regex_new(struct str pattern, unsigned flags, struct err *err); /* NULL on error */
void regex_free(struct regex *regex);
void regex_freep(struct regex **regex); /* for owned() */

/*
 * 1 match (start, end offsets into text), 0 none, negative ERR_LIMIT when the match limit hit.
 * Where trying one way after the other hits it, all ways are tried at once, if the pattern allows
 * that and the text is not long: the match found then is the longest one.
 * Bytes that are not UTF-8 match nothing but a bytewise pattern; what stands between them is
 * searched as ever.
 */
int regex_find(struct regex *regex, struct str text, size_t *start, size_t *end, struct err *err);
