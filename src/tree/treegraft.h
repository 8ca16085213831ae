/*
 * treegraft - a tree like another, except for one path taken from a third.
 *
 * Nothing on disk is touched: the result is stored, and treeapply writes it to disk.  Directories
 * on the way keep their attributes.
 */
#pragma once
#include "store/store.h"
#include "tree/treeiter.h"

/*
 * Replace path in base by the subtree that source has there, or remove it if source lacks it.
 * Missing parents are taken from source without their other entries.  ERR_NOT_FOUND when neither
 * has the path.
 */
int treegraft_path(struct store *store, const struct hash *base, const struct hash *source,
	struct str path, struct hash *result, struct err *err);

/*
 * Put the entry what, of any tree, at path in base.  The parent of path must exist.  A directory
 * put over a directory is merged with it: the old one keeps its attributes and its other entries.
 * A directory never replaces a file, nor a file a directory: ERR_INVALID.
 */
int treegraft_put(struct store *store, const struct hash *base, const struct entry *what,
	struct str path, struct hash *result, struct err *err);
