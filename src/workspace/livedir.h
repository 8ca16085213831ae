/*
 * livedir - a live tree that is an ordinary directory: ROOT/work/NAME, or one outside.
 *
 * The backends btrfs, copy and reflink use this.
 */
#pragma once
#include "workspace/backend.h"

/* A function that makes an empty live tree, or one that removes a live tree. */
typedef int (*livedir_do)(int dirfd, const char *name, struct err *err);

/* Open ROOT/work, where live trees inside the environment are. */
int livedir_work(const struct workspace *ws, struct err *err);
/*
 * Open the live tree and the directory of index files.  make is called when the live tree was
 * removed and setup.remake is set.  indexed_close closes both.
 */
int livedir_open(struct workspace *ws, livedir_do make, struct err *err);

/* Remove the index and, unless it lies outside, the live tree.  discard removes the live tree. */
int livedir_destroy(struct workspace *ws, livedir_do discard, struct err *err);

/*
 * Change the live tree, which holds the tree 'from' (NULL: it is empty), to the tree 'to'.  The
 * index stays as it is.  Files are cloned from donor (-1: none) where that works.  applied gets the
 * written entries, sorted.
 */
int livedir_apply(struct workspace *ws, const struct hash *from, const struct hash *to, int donor,
	struct applied *applied, struct err *err);
