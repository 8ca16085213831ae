/*
 * verify - checks the whole history: hashes every object again, and follows every reference between
 * nodes.
 */
#pragma once
#include "history/history.h"
#include "history/treeproof.h"

/* maximum number of ids that are listed for an error; the count is exact */
#define VERIFY_NODES_LISTED TREEPROOF_USERS

struct verify_error {
	/* text such as "blob 0123456789ab: content does not match its hash" */
	const char *what;
	const char (*nodes)[NODE_ID]; /* the affected nodes, at most VERIFY_NODES_LISTED */
	size_t n_nodes;
	uint64_t total_nodes;
};

struct verify {
	/* Called for each error, in no particular order.  *error is valid only during the call. */
	void (*error)(void *arg, const struct verify_error *error);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t errors;                /* out: number of errors */
	uint64_t objects, nodes, bytes; /* out: numbers of checked objects, nodes and bytes */
};

/*
 * Check the whole history, in this order:
 *
 *  1. the store (store_verify);
 *  2. all nodes: their ids and rows against their records, their parents and their tombstones;
 *  3. everything below the trees of nodes: every tree, chunk list and attribute set can be decoded,
 *     counts and sizes of directories add up, and every blob exists;
 *  4. tags, HEADs, the journal, and the stored counts of nodes and tags.
 *
 * Faults are passed to error().  The result is negative only if the check itself could not run.
 */
int verify_run(struct history *history, struct verify *verify, struct err *err);
