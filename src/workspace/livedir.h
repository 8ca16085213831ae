/*
 * livedir - a live tree that is an ordinary directory: ROOT/work/NAME, or one outside.
 *
 * The backends btrfs, copy and reflink use this.
 */
#pragma once
#include "workspace/backend.h"

/* Makes an empty live tree, or removes a live tree. */
typedef int (*livedir_do)(int dirfd, const char *name, struct err *err);

/* Open ROOT/work, where live trees inside the environment are. */
int livedir_work(const struct workspace *ws, struct err *err);
/*
 * Open the live tree and the directory of index files.  make is called when the live tree was
 * removed and setup.remake is set.  indexed_close closes both.
 */
int livedir_open(struct workspace *ws, livedir_do make, struct err *err);

/* Remove the index and, unless it lies outside, the live tree. */
int livedir_destroy(struct workspace *ws, livedir_do discard, struct err *err);

/*
 * Turn the live tree, which is from (NULL: empty), into to; the index is not changed.  applied
 * gets the written entries, sorted.
 */
int livedir_apply(struct workspace *ws, const struct hash *from, const struct hash *to, int donor,
	struct applied *applied, struct err *err);
