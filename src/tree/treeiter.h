/*
 * treeiter - read a stored directory: all entries in order, or one by name.
 *
 * Memory is one node per level.  The strings of an entry live until the next
 * call on the same iterator.
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
	int depth; /* levels in use; the innermost is a leaf */
	struct treeiter_level level[TREENODE_LEVELS];
};

void treeiter_init(struct treeiter *iter, struct store *store);
void treeiter_release(struct treeiter *iter);
/* On the heap: a treeiter is too large for the stack of a recursive function. */
struct treeiter *treeiter_new(struct store *store);
void treeiter_freep(struct treeiter **iter);
/* Start on a directory's entry (type ENTRY_DIR); an empty or unread one has no entries. */
int treeiter_open(struct treeiter *iter, const struct entry *dir, struct err *err);
/* 1 an entry, 0 no more, negative error. */
int treeiter_next(struct treeiter *iter, struct entry *entry, struct err *err);
/*
 * When comparing two directories: skip nodes that are next in both and equal.  Only allowed while
 * no entry of either is waiting to be used.
 */
int treeiter_skip_equal(struct treeiter *a, struct treeiter *b, struct err *err);
/* Forget the open directory; ready for treeiter_open. */
void treeiter_close(struct treeiter *iter);

/*
 * The entry called name in a directory: 1 found, 0 not.  Replaces whatever the iterator had open;
 * treeiter_next continues after the entry.
 */
int treeiter_find(struct treeiter *iter, const struct entry *dir, struct str name,
	struct entry *entry, struct err *err);

/* The root entry of a whole tree. */
int treeiter_root(
	struct treeiter *iter, const struct hash *tree, struct entry *root, struct err *err);
/* The same without an iterator; the strings of root are empty. */
int treeiter_top(struct store *store, const struct hash *tree, struct entry *root, struct err *err);

/*
 * The entry at a '/'-separated path below the tree's root; "" and "." are the
 * root.  1 found, 0 not there, ERR_INVALID for "..".
 */
int treeiter_path(struct treeiter *iter, const struct hash *tree, struct str path,
	struct entry *entry, struct err *err);
