/*
 * treelinks - hard links across the seam of two trees that were put together.
 *
 * A link group is named after all its members (entry.h), so a tree made from
 * parts of others has groups that no longer are what they say.  Here they are put right.
 *
 * Of a graft:
 *
 *	names outside the path stay linked to each other, whatever happens inside;
 *	names inside are linked to each other as in the source;
 *	and to a name outside when they were in the source and that one is still
 *	the same file there: a deleted link comes back as one.  When the
 *	name outside has changed since, the link is given up: no file outside
 *	the path gets other content or attributes.
 */
#pragma once
#include "store/store.h"
#include "tree/entry.h"

/*
 * grafted: the root of base with the subtree at path taken from source; its link groups are
 * as they were on either side.  Reads whole trees only when a group has names on both sides.
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
 * Of a merge: root is that of a tree whose groups have lost these names; the others of each stay
 * linked.  Reads the whole tree only when a group has lost some and not all.
 */
int treelinks_settle_lost(
	struct store *store, struct treelinks_names *lost, struct entry *root, struct err *err);
