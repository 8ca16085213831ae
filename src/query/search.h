/*
 * search - find matching lines in the regular files of a view, one match a line.
 *
 * A file with a NUL in its first 8 KiB is binary and skipped.  The search of a file ends at a line
 * of SEARCH_LINE_MAX bytes or more, and skips a line that takes more steps than the match limit.
 * missed is called for both.
 */
#pragma once
#include "query/keytable.h"
#include "query/provider.h"
#include "query/regex.h"

#define SEARCH_LINE_MAX ((size_t)1 << 20)
#define SEARCH_BINARY_PREFIX ((size_t)8 << 10)

struct search_match {
	struct str path;
	uint64_t line; /* from 1 */
	struct str text;
	size_t start, end; /* of the match in text */
};

struct search {
	struct view *view;
	struct regex *regex;
	/* Pairs of path and content already searched, across views; NULL: search every file. */
	struct keytable *seen;
	bool text_only; /* the search of a file also ends at a line that is not UTF-8 */
	/* Called for each match; negative stops, 1 stops without an error. */
	int (*visit)(void *arg, const struct search_match *match, struct err *err);
	/* Called for each file that was not searched; or NULL. */
	void (*missed)(void *arg, struct str path, uint64_t line, const char *why);
	void *arg;
};

/* base: a file, or a directory and everything below. */
int search_run(struct search *search, struct str base, struct err *err);
/* One file; 1 when visit wanted to stop. */
int search_file(struct search *search, struct str path, const struct entry *entry, struct err *err);
