/*
 * reach - which objects a set of trees needs: a compact set of object keys,
 * eight bytes each, filled by walking trees and skipping what is already in it.
 *
 * A key is mixed with random numbers of the run to 64 bits, so nobody can make two
 * objects that look like one here; by chance two of N objects do with N² / 2^65.
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
	/* Called once per object that was new to the set, or NULL.  Negative stops. */
	int (*visit)(void *arg, const struct object_key *key, struct err *err);
	void *arg;
};

void reach_init(struct reach *reach, struct store *store);
void reach_release(struct reach *reach);
bool reach_has(const struct reach *reach, const struct object_key *key);
/* Add a single key; whether it was new.  Nothing is visited. */
bool reach_add(struct reach *reach, const struct object_key *key);
/* Add a tree and everything below it.  After a failure the set is of no more use. */
int reach_tree(struct reach *reach, const struct hash *tree, struct err *err);

/*
 * The objects one object names: of a tree node its children, or the contents, directories
 * and attributes of its entries; of a chunk list its pieces.  Other types name none.
 */
struct reach_refs {
	struct store *store;
	struct buf bytes;
	enum object_type type;
	struct treenode node;
	struct content_list list;
	struct object_key more; /* attributes of an entry whose content was just given */
};

void reach_refs_init(struct reach_refs *refs, struct store *store);
void reach_refs_release(struct reach_refs *refs);
/* Load an object; what was loaded before is forgotten. */
int reach_refs_open(struct reach_refs *refs, const struct object_key *key, struct err *err);
/* 1 the next key (the same one may come again), 0 no more, negative error. */
int reach_refs_next(struct reach_refs *refs, struct object_key *key, struct err *err);
