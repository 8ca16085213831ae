/*
 * reach - which objects a set of trees needs: a compact set of object keys,
 * eight bytes each, filled by walking trees and skipping what is already in it.
 *
 * Two keys with the same 64-bit prefix count as one: at worst an object too many is kept.
 */
#pragma once
#include "store/store.h"

struct reach {
	struct store *store;
	uint64_t *slots;
	size_t cap;
	size_t count;
	/* Called once per object that was new to the set, or NULL.  Negative stops. */
	int (*visit)(void *arg, const struct object_key *key, struct err *err);
	void *arg;
};

void reach_init(struct reach *reach, struct store *store);
void reach_release(struct reach *reach);
bool reach_has(const struct reach *reach, const struct object_key *key);
/* Add a tree and everything below it. */
int reach_tree(struct reach *reach, const struct hash *tree, struct err *err);
