/*
 * reach - which objects a set of trees needs: a compact set of object keys, eight bytes each,
 * filled by walking trees.  The walk skips objects that are in the set already.
 *
 * A key is mixed with random numbers of the run to 64 bits, so nobody can construct two objects
 * that count as one here.  By chance two of N objects do with probability N² / 2^65.
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
	/* Called once for each object that reach_tree adds, or NULL.  Negative stops. */
	int (*visit)(void *arg, const struct object_key *key, struct err *err);
	void *arg;
};

void reach_init(struct reach *reach, struct store *store);
void reach_release(struct reach *reach);
bool reach_has(const struct reach *reach, const struct object_key *key);
/* Add a single key without calling visit; whether it was new. */
bool reach_add(struct reach *reach, const struct object_key *key);
/* Add a tree and everything below it.  After a failure the set is incomplete. */
int reach_tree(struct reach *reach, const struct hash *tree, struct err *err);

/* The type of the object that holds the content of an entry; 0: there is none. */
enum object_type reach_content_type(const struct entry *entry);

/*
 * Iterates over the objects that one object names: of a tree node its children, or the contents,
 * directories and attributes of its entries; of a chunk list its pieces.  Other types name none.
 */
struct reach_refs {
	struct store *store;
	struct buf bytes;
	enum object_type type;
	struct treenode node;
	struct content_list list;
	struct object_key more; /* attributes of the entry whose content was returned last */
};

void reach_refs_init(struct reach_refs *refs, struct store *store);
void reach_refs_release(struct reach_refs *refs);
/* Load an object instead of the one before. */
int reach_refs_open(struct reach_refs *refs, const struct object_key *key, struct err *err);
/* 1 the next key (the same key may come twice), 0 no more, negative error. */
int reach_refs_next(struct reach_refs *refs, struct object_key *key, struct err *err);
