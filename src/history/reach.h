/*
 * reach - finds the objects that trees need.
 *
 * struct reach is a set of object keys.  reach_tree adds a tree and everything below it, and skips
 * objects that are in the set already.
 *
 * The set takes eight bytes for each key: the key is mixed to 64 bits with random numbers that each
 * process chooses.  So nobody can make two objects with the same 64 bits on purpose.  By chance,
 * two of N objects have the same 64 bits with probability N² / 2^65.
 */
#pragma once
#include "store/store.h"
#include "tree/content.h"
#include "tree/treenode.h"

struct reach {
	struct store *store;
	uint64_t *slots;
	size_t cap;
	size_t count;
	uint64_t seed[4];
	/*
	 * Called once for each object that reach_tree adds.  May be NULL.  A negative result ends
	 * reach_tree.
	 */
	int (*visit)(void *arg, const struct object_key *key, struct err *err);
	void *arg;
};

void reach_init(struct reach *reach, struct store *store);
void reach_release(struct reach *reach);
bool reach_has(const struct reach *reach, const struct object_key *key);
/* Add a single key, and do not call 'visit'.  Returns true if the key was not in the set. */
bool reach_add(struct reach *reach, const struct object_key *key);
/* Add a tree and all objects below it.  After a failure the set is incomplete. */
int reach_tree(struct reach *reach, const struct hash *tree, struct err *err);

/*
 * Returns the type of the object that has the content of an entry, or 0 if the entry has no
 * content.
 */
enum object_type reach_content_type(const struct entry *entry);
