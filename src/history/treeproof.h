/*
 * treeproof - whether every object below a set of trees exists and is sound.
 *
 * Each object is checked once, however many trees have it.  First treeproof_tree walks each tree
 * and returns its damage.  Then the caller passes that damage with each user (node) of the tree to
 * treeproof_use; after that treeproof_fault lists every fault with its users.
 */
#pragma once
#include "store/store.h"

#define TREEPROOF_SOUND UINT32_MAX /* no damage */
#define TREEPROOF_USERS 32         /* named per fault; the count is exact */

struct treeproof *treeproof_new(struct store *store);
void treeproof_freep(struct treeproof **proof);

/* Record a fault of an object. */
void treeproof_damaged(struct treeproof *proof, const struct object_key *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Check everything below a tree; *damage is TREEPROOF_SOUND, or a number for treeproof_use. */
int treeproof_tree(
	struct treeproof *proof, const struct hash *tree, uint32_t *damage, struct err *err);

/* A user, whose number the caller chooses, has a tree with that damage; once for each user. */
void treeproof_use(struct treeproof *proof, uint32_t damage, uint32_t user);

struct treeproof_fault {
	const char *what;
	const uint32_t *users; /* at most TREEPROOF_USERS */
	uint64_t total;
};
/* The fault number i, from 0; false when there are no more. */
bool treeproof_fault(const struct treeproof *proof, size_t i, struct treeproof_fault *fault);
/* How many more faults there were than are kept. */
uint64_t treeproof_unlisted(const struct treeproof *proof);
