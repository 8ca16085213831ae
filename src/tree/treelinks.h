/*
 * treelinks - hard links in a tree that was put together from parts of others.
 *
 * A link group is named after all its members (entry.h), so in such a tree some groups have wrong
 * names.  These functions correct them.
 *
 * For a graft:
 *
 *	names outside the path stay linked to each other, whatever happens inside;
 *	names inside are linked to each other as in the source;
 *	names inside are linked to a name outside as in the source, if that is still the same file.
 *	So a deleted link comes back as a link.  If the outside name has changed since, the link is
 *	given up: no file outside the path gets other content or attributes.
 */
#pragma once
#include "store/store.h"
#include "tree/entry.h"

/*
 * grafted: the root of base with the subtree at path taken from source; its groups still have their
 * old names.  Whole trees are read only when a group has names on both sides.
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
 * For a merge: correct the groups of root's tree, which has lost these names.  The whole tree is
 * read only when a group has lost some names and not all.
 */
int treelinks_settle_lost(
	struct store *store, struct treelinks_names *lost, struct entry *root, struct err *err);
