/*
 * treeiter - reads a stored directory: all entries in order, or one by name.
 *
 * An iterator keeps one node for each level.  The strings of an entry are valid until the next call
 * with the same iterator.
 */
#pragma once
#include "store/store.h"
#include "tree/treenode.h"

struct treeiter_level {
	struct buf bytes;
	struct treenode node;
};

struct treeiter {
	struct store *store;
	int depth; /* number of levels in use; the innermost level is a leaf */
	struct treeiter_level level[TREENODE_LEVELS];
};

void treeiter_init(struct treeiter *iter, struct store *store);
void treeiter_release(struct treeiter *iter);
/* Make an iterator on the heap, since it is too large for the stack of a recursive function. */
struct treeiter *treeiter_new(struct store *store);
void treeiter_freep(struct treeiter **iter);
/*
 * Begin to read the directory of an entry, whose type must be ENTRY_DIR.  A directory that is empty
 * or unread has no entries.
 */
int treeiter_open(struct treeiter *iter, const struct entry *dir, struct err *err);
/* Read the next entry.  Returns 1, or 0 after the last entry, or a negative error. */
int treeiter_next(struct treeiter *iter, struct entry *entry, struct err *err);
/*
 * As long as the next nodes of both iterators are equal, skip them.  Before the call, the caller
 * must have compared all entries that it has read from the iterators.
 */
int treeiter_skip_equal(struct treeiter *a, struct treeiter *b, struct err *err);
/* Close the open directory, so that treeiter_open can open another one. */
void treeiter_close(struct treeiter *iter);

/*
 * Open the directory dir and find its entry called 'name'.  Returns 1, or 0 if there is none, or a
 * negative error.  Afterwards treeiter_next returns the entries that follow.
 */
int treeiter_find(struct treeiter *iter, const struct entry *dir, struct str name,
	struct entry *entry, struct err *err);

/* Read the root entry of a whole tree.  Returns 1 or a negative error. */
int treeiter_root(
	struct treeiter *iter, const struct hash *tree, struct entry *root, struct err *err);
/* Do the same as treeiter_root, but without an iterator.  The strings of *root become empty. */
int treeiter_top(struct store *store, const struct hash *tree, struct entry *root, struct err *err);

/*
 * Find the entry at a path below the root of a tree.  The names in the path are separated by '/'.
 * The paths "" and "." mean the root.  Returns 1, or 0 if there is no such entry, or ERR_INVALID
 * for a path with "..".
 */
int treeiter_path(struct treeiter *iter, const struct hash *tree, struct str path,
	struct entry *entry, struct err *err);
