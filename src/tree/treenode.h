/*
 * treenode - the stored form of a directory.
 *
 * A directory is a search tree over its sorted entries, so that one change among 100,000 names
 * rewrites a few small nodes.  Whether a node ends after a name depends only on the hash of that
 * name (see treebuild.c).  So the same set of names always gives the same nodes, whatever changes
 * led to that set.
 *
 *	version   1 byte    1
 *	level     1 byte    0: entries; n: children of level n-1
 *	count     varint
 *	items     level 0: entries (entry.h), names ascending
 *	          else:    last name (length, bytes), hash, count varint, size varint
 *
 * The count of a child is the number of entries below it, at any depth.  The size of a child is the
 * sum of the sizes of the files below it.
 *
 * A whole tree, which a history node points at, is a level-0 node with one entry: the root
 * directory, whose name is empty.
 */
#pragma once
#include "tree/entry.h"

#define TREENODE_LEVELS 12
#define TREENODE_ITEMS_MAX 4096 /* maximum number of items in one node */

struct treenode_child {
	struct str last; /* the greatest name below this child */
	struct hash hash;
	uint64_t count, size;
};

/* Reads the items of one node, in order. */
struct treenode {
	struct cursor in;
	unsigned level;
	uint64_t left;     /* number of items that were not read yet */
	struct str before; /* name that was read last, to check the order */
	bool first;
};

void treenode_header(struct buf *out, unsigned level, uint64_t count);
void treenode_add_child(struct buf *out, const struct treenode_child *child);

/* Begin to read a node.  The bytes must stay valid as long as the node is read. */
int treenode_open(struct treenode *node, const void *bytes, size_t len, struct err *err);
/*
 * Read the next entry of a level-0 node.  Returns 1, or 0 at the end, or a negative error.  Bytes
 * after the last entry are an error.
 */
int treenode_entry(struct treenode *node, struct entry *entry, struct err *err);
/* Read the next child of a node of a higher level.  Returns the same values as treenode_entry. */
int treenode_child(struct treenode *node, struct treenode_child *child, struct err *err);
