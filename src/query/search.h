/*
 * search - finds the matching lines in the regular files of a view.  Each line is one match.
 *
 * A file with a NUL in its first 8 KiB is binary and skipped.  A line of SEARCH_LINE_MAX bytes or
 * more ends the search of its file.  A hole counts as zeros.  A file that cannot be read is skipped
 * and counted in view->unread.  A line that takes more steps than the match limit is skipped.  The
 * function 'missed' is called for a line that is too long, and for a line that is skipped.
 */
#pragma once
#include "core/linesearch.h"
#include "query/keytable.h"
#include "query/provider.h"

#define SEARCH_LINE_MAX ((size_t)1 << 20)
#define SEARCH_BINARY_PREFIX ((size_t)8 << 10)

struct search_match {
	struct str path;
	uint64_t line; /* number of the line, counted from 1 */
	struct str text;
	size_t start, end; /* offsets of the match in text */
};

struct search {
	struct view *view;
	struct linesearch *lines;
	/*
	 * A set of pairs of path and content that were already searched, in any view; may be NULL.
	 * A file whose pair is in the set is skipped.
	 */
	struct keytable *seen;
	uint64_t read;  /* bytes of files that were searched */
	bool text_only; /* the search of a file also ends at a line that is not UTF-8 */
	/*
	 * Called for each match.  Returns a negative value to stop with that error, or 1 to stop
	 * without an error.
	 */
	int (*visit)(void *arg, const struct search_match *match, struct err *err);
	/*
	 * Called for each line that was skipped, and for each file whose rest was skipped; may be
	 * NULL.
	 */
	void (*missed)(void *arg, struct str path, uint64_t line, const char *why);
	void *arg;
};

/* Search base, which is a file, or a directory with everything below it. */
int search_run(struct search *search, struct str base, struct err *err);
/* Whether an entry is a file that may have lines. */
bool search_wants(const struct entry *entry);
/* Search one file.  Returns 1 if 'visit' has returned 1. */
int search_file(struct search *search, struct str path, const struct entry *entry, struct err *err);
