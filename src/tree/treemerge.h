/*
 * treemerge - build directories from their entries, over what lies below them.
 *
 * Entries come in order, depth first; a directory is begun, filled and ended
 * before it is added to its parent.  Without a lower tree that is all.  With one
 * the entries are those of the upper layer of an overlay, and what comes
 * out is what the overlay shows:
 *
 *	only below          taken over as it is
 *	whiteout            not there
 *	directory in both   merged, with the attributes of the upper one; unless that is opaque
 *	else                what is above
 *
 * Memory is an unfinished node and a reader per level.
 */
#pragma once
#include "store/store.h"
#include "tree/treelinks.h"

struct treemerge_level;

struct treemerge {
	struct store *store;
	bool over; /* there is a lower tree */
	/*
	 * Nobody could give a file away, so owners on disk mean nothing: a file keeps the
	 * one it has below, a new one gets that of its directory.
	 */
	bool squashed;
	struct treelinks_names lost; /* hard-linked names of lower that are hidden */
	struct entry lower;          /* root of the tree below */
	struct treemerge_level **levels;
	size_t n_levels, cap_levels;
	size_t depth; /* levels in use */
};

/* lower NULL: nothing lies below. */
int treemerge_init(struct treemerge *merge, struct store *store, const struct hash *lower,
	bool squashed, struct err *err);
void treemerge_release(struct treemerge *merge);

/* Enter the directory dir, an entry not yet added to the directory around it. */
int treemerge_begin(struct treemerge *merge, const struct entry *dir, struct err *err);
/*
 * Leave it.  *dir gets content, hash, count and size, and the attributes that depend on what is
 * below.  *lost: its entries hide hard links, so the whole needs this directory again next time.
 */
int treemerge_end(struct treemerge *merge, struct entry *dir, bool *lost, struct err *err);

enum treemerge_hides {
	TREEMERGE_UNKNOWN,
	TREEMERGE_NO_LINKS, /* what this entry hides has no hard links: known from before */
};
/*
 * An entry of the directory entered last; a directory is complete by now.  1
 * when what it hides has no hard links, which may be told next time.
 */
int treemerge_add(struct treemerge *merge, const struct entry *entry, enum treemerge_hides hides,
	struct err *err);
/* The same for a directory that has just been ended, with what treemerge_end said of it. */
int treemerge_add_ended(struct treemerge *merge, const struct entry *entry, struct err *err);

/* The attributes of the root that depend on what is below, where it was not entered. */
int treemerge_root(struct treemerge *merge, struct entry *root, struct err *err);
/* The whole: root was ended last, or is as it was. */
int treemerge_finish(
	struct treemerge *merge, struct entry *root, struct hash *tree, struct err *err);
