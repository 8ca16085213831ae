/*
 * treegraft - makes a tree that is like another tree, except for one path, which comes from a third
 * tree.
 *
 * Nothing on disk is touched.  The result is only stored, and treeapply can write it to disk.  The
 * directories above the path keep their attributes.
 */
#pragma once
#include "store/store.h"
#include "tree/treeiter.h"

/*
 * Set *result to the tree base with the entry at path taken from source, or removed if source does
 * not have it.  Missing parents are taken from source without their other entries.  Returns
 * ERR_NOT_FOUND if neither tree has the path.
 */
int treegraft_path(struct store *store, const struct hash *base, const struct hash *source,
	struct str path, struct hash *result, struct err *err);

/*
 * Set *result to the tree base with the entry 'what', which may come from any tree, put at path.
 * The parent of path must exist.  A directory that is put over a directory is merged with it: the
 * old directory keeps its attributes and its other entries.  A directory never replaces a file, nor
 * a file a directory.  Returns ERR_INVALID in such a case.
 */
int treegraft_put(struct store *store, const struct hash *base, const struct entry *what,
	struct str path, struct hash *result, struct err *err);
