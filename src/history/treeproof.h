/*
 * treeproof - checks that every object below a set of trees exists and is sound.
 *
 * Each object is checked only once, even if many trees contain it.  The things that have a tree,
 * such as nodes, are called its users here.
 *
 * The caller first calls treeproof_tree for each tree and gets a number for its damage.  Then it
 * passes that number to treeproof_use for each user of the tree.  After that, treeproof_fault lists
 * every fault with its users.
 */
#pragma once
#include "store/store.h"

#define TREEPROOF_SOUND UINT32_MAX /* the number for a tree without damage */
/* maximum number of users that are listed for a fault; the total is exact */
#define TREEPROOF_USERS 32

struct treeproof *treeproof_new(struct store *store);
void treeproof_freep(struct treeproof **proof);

/* Record a fault of an object. */
void treeproof_damaged(struct treeproof *proof, const struct object_key *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Check all objects below a tree.  *damage is set to TREEPROOF_SOUND, or to a number for
 * treeproof_use.
 */
int treeproof_tree(
	struct treeproof *proof, const struct hash *tree, uint32_t *damage, struct err *err);

/*
 * Record that a user has a tree with this damage.  The caller must number the users, and call this
 * function at most once for each user.
 */
void treeproof_use(struct treeproof *proof, uint32_t damage, uint32_t user);

struct treeproof_fault {
	const char *what;
	const uint32_t *users; /* at most TREEPROOF_USERS users */
	uint64_t total;
};
/* Get the fault with number i, counted from 0.  Returns false if there are no more faults. */
bool treeproof_fault(const struct treeproof *proof, size_t i, struct treeproof_fault *fault);
/* Returns the number of faults that treeproof_fault does not list, because there were too many. */
uint64_t treeproof_unlisted(const struct treeproof *proof);
