/*
 * treegraft - a tree like another, but for one path taken from a third.
 *
 * Nothing on disk is touched: the result is stored, and treeapply brings it
 * about.  Directories on the way keep their own attributes.
 */
#pragma once
#include "store/store.h"
#include "tree/treeiter.h"

/*
 * Replace path in base by what source has there: its whole subtree, or nothing
 * when source lacks it.  Missing parents are taken from source without their
 * other content.  ERR_NOT_FOUND when neither tree has the path.
 */
int treegraft_path(struct store *store, const struct hash *base, const struct hash *source,
	struct str path, struct hash *result, struct err *err);

/*
 * Put what, an entry of whatever tree, at path in base.  The directory of path must be there.  A
 * directory put over another is merged with it: that one keeps its attributes and what only it
 * has.  Nothing else may take the place of a directory, nor the other way round: ERR_INVALID.
 */
int treegraft_put(struct store *store, const struct hash *base, const struct entry *what,
	struct str path, struct hash *result, struct err *err);
