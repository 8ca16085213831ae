/*
 * treediff - the differences of two trees, in time proportional to their number.
 *
 * Changes come in path order.  A new or deleted directory is listed with everything in it.  A
 * directory whose only change is its mtime is listed only if no change among its own entries
 * explains that.  A directory that could not be read on one side is listed with changed content,
 * without the entries below.
 *
 * Renames are found by content: a deleted and an added file with the same, non-empty content, or
 * directories with the same tree, become one 'R'.  The entries of a renamed directory are not
 * listed.
 */
#pragma once
#include "store/store.h"
#include "tree/entry.h"

enum treediff_what {
	TREEDIFF_CONTENT = 1 << 0,
	TREEDIFF_MODE = 1 << 1,
	TREEDIFF_OWNER = 1 << 2,
	TREEDIFF_MTIME = 1 << 3,
	TREEDIFF_XATTR = 1 << 4,
	TREEDIFF_TARGET = 1 << 5,
	TREEDIFF_TYPE = 1 << 6,
	TREEDIFF_LINK = 1 << 7, /* the other names it is hard-linked with */
};
#define TREEDIFF_WHATS 8
const char *treediff_what_name(unsigned bit); /* of a single bit */

struct treediff_change {
	char op;               /* '+' '-' 'M' 'T' (type) 'R' */
	struct str path;       /* "" is the root directory */
	struct str new_path;   /* for 'R' */
	unsigned what;         /* for 'M', 'T' and 'R' */
	const struct entry *a; /* NULL for '+'; for 'R' without name and target */
	const struct entry *b; /* NULL for '-' */
};

struct treediff_options {
	const struct str *paths; /* only these paths and everything below; none: all */
	size_t n_paths;
	bool renames;
};

struct treediff_counts {
	uint64_t added, modified, deleted, renamed;
};

/* change may be NULL; it returns < 0 to stop.  counts may be NULL. */
int treediff_run(struct store *store, const struct hash *a, const struct hash *b,
	const struct treediff_options *options,
	int (*change)(void *arg, const struct treediff_change *change, struct err *err), void *arg,
	struct treediff_counts *counts, struct err *err);

/* The differences between two entries of the same name. */
unsigned treediff_compare(const struct entry *a, const struct entry *b);
