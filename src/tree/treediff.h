/*
 * treediff - finds the differences between two trees, in time proportional to the number of
 * differences.
 *
 * Changes come in path order.  A new or deleted directory is listed with everything in it.  If only
 * the mtime of a directory has changed, and a change among its own entries explains that, the
 * directory is not listed.  A directory that could be read in only one of the trees is listed with
 * changed content, without the entries below it.
 *
 * Renames are found by content.  A deleted file and an added file are listed as one change, a
 * rename, if they have the same content and are not empty.  Two directories with the same tree are
 * listed as a rename, too, and the entries in them are not listed.
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
	TREEDIFF_LINK = 1 << 7, /* hard links: the set of other names of the file */
};
#define TREEDIFF_WHATS 8
const char *treediff_what_name(unsigned bit); /* returns the name of a single bit */

struct treediff_change {
	char op;               /* '+' '-' 'M' 'T' (type) 'R' */
	struct str path;       /* "" is the root directory */
	struct str new_path;   /* new path of a renamed entry (op 'R') */
	unsigned what;         /* bits of enum treediff_what, for 'M', 'T' and 'R' */
	const struct entry *a; /* NULL for '+'; its name and target are empty for 'R' */
	const struct entry *b; /* NULL for '-' */
};

struct treediff_options {
	/* compare only these paths and everything below them; no paths: the whole tree */
	const struct str *paths;
	size_t n_paths;
	bool renames;
};

struct treediff_counts {
	uint64_t added, modified, deleted, renamed;
};

/*
 * Call the callback 'change' for each difference between the trees a and b, and count the
 * differences in *counts.  If the callback returns a negative value, the comparison ends, and
 * treediff_run returns this value.  Both 'change' and 'counts' may be NULL.
 */
int treediff_run(struct store *store, const struct hash *a, const struct hash *b,
	const struct treediff_options *options,
	int (*change)(void *arg, const struct treediff_change *change, struct err *err), void *arg,
	struct treediff_counts *counts, struct err *err);

/*
 * Whether the options select this path or a path below it.  *wanted becomes true if the path itself
 * is selected.
 */
bool treediff_selects(const struct treediff_options *options, struct str path, bool *wanted);
/* Returns how two entries of the same name differ, as bits of enum treediff_what. */
unsigned treediff_compare(const struct entry *a, const struct entry *b);
