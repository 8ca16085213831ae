/*
 * treemerge - builds directories from their entries, and merges them with a lower tree.
 *
 * Entries come in order, depth first.  A directory is begun, filled and ended before it is added to
 * its parent.  Without a lower tree nothing more is done.  With a lower tree, the entries are those
 * of the upper layer of an overlay, and the result is the tree that the overlay shows:
 *
 *	entry only below    taken over as it is
 *	whiteout            left out
 *	directory in both   merged, with the upper attributes, unless the upper one is opaque
 *	else                the upper entry
 *
 * A merge needs memory for an unfinished node and a reader of each level.
 */
#pragma once
#include "store/store.h"
#include "tree/treelinks.h"

struct treemerge_level;

struct treemerge {
	struct store *store;
	bool over; /* there is a lower tree */
	/*
	 * The user has only one id, so owners on disk mean nothing.  A file keeps the owner of the
	 * lower tree's entry, and a new file gets the owner of its directory.
	 */
	bool squashed;
	/* hard-linked names of the lower tree that the upper layer hides */
	struct treelinks_names lost;
	struct entry lower; /* root of the lower tree */
	struct treemerge_level **levels;
	size_t n_levels, cap_levels;
	size_t depth; /* number of levels in use */
};

/* Begin a merge.  If 'lower' is NULL, there is no lower tree. */
int treemerge_init(struct treemerge *merge, struct store *store, const struct hash *lower,
	bool squashed, struct err *err);
void treemerge_release(struct treemerge *merge);

/* Enter the directory dir, whose entry must not have been added to its parent yet. */
int treemerge_begin(struct treemerge *merge, const struct entry *dir, struct err *err);
/*
 * Leave the directory that was entered last.  The content, hash, count and size of *dir are set,
 * and also the attributes that depend on the lower tree.  *lost becomes true if entries of the
 * directory hide hard links of the lower tree.  In that case, each later merge must read the
 * directory again.
 */
int treemerge_end(struct treemerge *merge, struct entry *dir, bool *lost, struct err *err);

enum treemerge_hides {
	TREEMERGE_UNKNOWN,
	TREEMERGE_NO_LINKS, /* the caller has noted that the entry hides no hard links */
};
/*
 * Add an entry to the current directory.  The entry of a directory must be complete.  Returns 1 if
 * it is certain that the entry hides no hard links, else 0.  The caller may note this for the next
 * merge.
 */
int treemerge_add(struct treemerge *merge, const struct entry *entry, enum treemerge_hides hides,
	struct err *err);
/* Add the entry of the directory that has just ended.  treemerge_end must have completed it. */
int treemerge_add_ended(struct treemerge *merge, const struct entry *entry, struct err *err);

/*
 * Set those attributes of the root that depend on the lower tree.  The root must not have been
 * entered.
 */
int treemerge_root(struct treemerge *merge, struct entry *root, struct err *err);
/*
 * Store the whole tree and set *tree to its hash.  The parameter 'root' is the entry of the root,
 * which treemerge_end or treemerge_root must have completed.
 */
int treemerge_finish(
	struct treemerge *merge, struct entry *root, struct hash *tree, struct err *err);
