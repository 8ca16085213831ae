/*
 * treebuild - makes the stored form of one directory from its sorted entries.
 *
 * Entries must be added in name order.  The builder does not keep them: whatever the size of the
 * directory, it needs memory only for one unfinished node of each level.
 */
#pragma once
#include "store/store.h"
#include "tree/treenode.h"

struct treebuild_level {
	struct buf items;
	struct buf last; /* name of the last item */
	uint64_t n, count, size;
};

struct treebuild {
	struct store *store;
	unsigned top; /* highest level that has items */
	struct treebuild_level level[TREENODE_LEVELS];
};

void treebuild_init(struct treebuild *build, struct store *store);
void treebuild_release(struct treebuild *build);
struct treebuild *treebuild_new(struct store *store);
void treebuild_freep(struct treebuild **build);
int treebuild_add(struct treebuild *build, const struct entry *entry, struct err *err);
/*
 * Finish the directory, and set the content, hash, count and size of *dir, the entry of the
 * directory.  The content is ENTRY_EMPTY, or ENTRY_TREE with the hash of the top node.  Afterwards
 * the builder is empty and can be used again.
 */
int treebuild_finish(struct treebuild *build, struct entry *dir, struct err *err);

/*
 * Store a node with only one entry, the root, whose name must be empty.  *tree is set to the hash
 * of the node.
 */
int treebuild_root(
	struct store *store, const struct entry *root, struct hash *tree, struct err *err);
