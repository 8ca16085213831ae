/*
 * livedir - a live tree that is a directory as it is: ROOT/work/NAME, or one outside.
 *
 * What the backends whose live tree can be seen without a mount have in common.
 */
#pragma once
#include "workspace/backend.h"

/* Makes a live tree, empty, or removes it. */
typedef int (*livedir_do)(int dirfd, const char *name, struct err *err);

/* Open ROOT/work, where live trees inside the environment are. */
int livedir_work(const struct workspace *ws, struct err *err);
/* Open the live tree and the directory of index files; make is for one that is gone. */
int livedir_open(struct workspace *ws, livedir_do make, struct err *err);
void livedir_close(struct workspace *ws);

/* Remove the index and, unless it lies outside, the live tree. */
int livedir_destroy(struct workspace *ws, livedir_do discard, struct err *err);

/*
 * Turn the live tree, which is from (NULL: empty), into to; the index is left as it was.  applied
 * gets what was left of it, sorted.
 */
int livedir_apply(struct workspace *ws, const struct hash *from, const struct hash *to, int donor,
	struct applied *applied, struct err *err);
