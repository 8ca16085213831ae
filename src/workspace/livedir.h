/*
 * livedir - a live tree that is an ordinary directory: ROOT/work/NAME, or a directory outside the
 * environment.
 *
 * The backends btrfs, copy and reflink use this file.
 */
#pragma once
#include "workspace/backend.h"

/* The type of a function that makes an empty live tree or removes a live tree. */
typedef int (*livedir_do)(int dirfd, const char *name, struct err *err);

/* Open ROOT/work, which contains the live trees inside the environment.  The caller closes it. */
int livedir_work(const struct workspace *ws, struct err *err);
/*
 * Open the live tree and the directory of index files.  If the live tree was removed and
 * setup.remake is set, the function 'make' is called to make it again.  indexed_close closes both
 * directories.
 */
int livedir_open(struct workspace *ws, livedir_do make, struct err *err);

/*
 * Remove the index of a workspace.  If the live tree is inside the environment, the function
 * 'discard' is called to remove it.
 */
int livedir_destroy(struct workspace *ws, livedir_do discard, struct err *err);

/*
 * Change the live tree from the tree 'from' (NULL: the live tree is empty) to the tree 'to'.  The
 * index is not changed.  Files are cloned from 'donor' (-1: none) where possible.  *applied is set
 * to the written entries, sorted.
 */
int livedir_apply(struct workspace *ws, const struct hash *from, const struct hash *to, int donor,
	struct applied *applied, struct err *err);
