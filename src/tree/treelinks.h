/*
 * treelinks - corrects the hard links in a tree that was put together from parts of other trees.
 *
 * The number of a link group is computed from the paths of all its names (entry.h).  So in a tree
 * that was put together, some groups have wrong numbers.
 *
 * These rules hold for a graft, which takes the subtree at one path from another tree, the source:
 *
 *	Names outside the path stay linked to each other, whatever happens inside.
 *	Names inside are linked to each other as in the source.
 *	A name inside is linked to a name outside as in the source, if the name outside is still the
 *	same file.  So a deleted link comes back as a link.  If the name outside has changed since,
 *	the link is given up, so that no file outside the path gets other content or attributes.
 */
#pragma once
#include "store/store.h"
#include "tree/entry.h"

/*
 * Correct the link groups in a tree after a graft.  The parameters 'base', 'source' and 'grafted'
 * are root entries.  'grafted' must be 'base' with the subtree at 'path' taken from 'source'.  Its
 * groups must still have their old numbers.  The function reads whole trees only if a group has
 * names both inside and outside the path.
 */
int treelinks_settle(struct store *store, const struct entry *base, const struct entry *source,
	struct str path, struct entry *grafted, struct err *err);

/* A list of hard-linked names. */
struct treelinks_names {
	struct treelinks_member *list;
	size_t n, cap;
};

void treelinks_add(struct treelinks_names *names, uint64_t group, uint64_t path);
void treelinks_release(struct treelinks_names *names);

/*
 * Correct the groups in the tree of 'root' after a merge in which the tree has lost the names in
 * 'lost'.  The function reads the whole tree only if a group has lost some but not all of its
 * names.
 */
int treelinks_settle_lost(
	struct store *store, struct treelinks_names *lost, struct entry *root, struct err *err);
