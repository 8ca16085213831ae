/*
 * treeproof - whether everything below trees is there and sound.
 *
 * Each object is looked at once, however many trees have it.  First all trees are walked, then each
 * of their users says which damage it found; after that every fault knows its users.
 */
#pragma once
#include "store/store.h"

#define TREEPROOF_SOUND UINT32_MAX /* no damage */
#define TREEPROOF_USERS 32         /* named per fault; the count is exact */

struct treeproof *treeproof_new(struct store *store);
void treeproof_freep(struct treeproof **proof);

/* Note a fault of an object. */
void treeproof_damaged(struct treeproof *proof, const struct object_key *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Walk everything below a tree; *damage stands for what is damaged there. */
int treeproof_tree(
	struct treeproof *proof, const struct hash *tree, uint32_t *damage, struct err *err);

/* A user, by a number of the caller's, has a tree with that damage; each user once. */
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
