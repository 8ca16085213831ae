/*
 * treegraft - makes a copy of a tree in which the entry at one path comes from another tree.
 *
 * No file on disk is touched.  The result is only in the store.  treeapply can write it to disk.
 * The directories above the path keep their attributes.
 */
#pragma once
#include "store/store.h"
#include "tree/treeiter.h"

/*
 * Set *result to a copy of the tree 'base' in which the entry at 'path' comes from the tree
 * 'source'.  If 'source' has no such entry, the copy has none either.  Missing parents are taken
 * from 'source' without their other entries.  Returns ERR_NOT_FOUND if neither tree has the path.
 */
int treegraft_path(struct store *store, const struct hash *base, const struct hash *source,
	struct str path, struct hash *result, struct err *err);

/*
 * Set *result to a copy of the tree 'base' in which the entry 'what' is at 'path'.  This entry may
 * come from any tree.  The parent of 'path' must exist.  A directory that is put over a directory
 * is merged with it: the old directory keeps its attributes and its other entries.  If a directory
 * would replace a file, or a file would replace a directory, ERR_INVALID is returned.
 */
int treegraft_put(struct store *store, const struct hash *base, const struct entry *what,
	struct str path, struct hash *result, struct err *err);
