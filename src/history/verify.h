/*
 * verify - checks the whole history: hashes every object again and follows every link between
 * nodes.
 */
#pragma once
#include "history/history.h"
#include "history/treeproof.h"

#define VERIFY_NODES_LISTED TREEPROOF_USERS /* most ids listed for an error; the count is exact */

struct verify_error {
	const char *what;             /* "blob 0123456789ab: content does not match its hash" */
	const char (*nodes)[NODE_ID]; /* the nodes it concerns, at most VERIFY_NODES_LISTED */
	size_t n_nodes;
	uint64_t total_nodes;
};

struct verify {
	/* Called for each error, in no particular order; *error is valid during the call only. */
	void (*error)(void *arg, const struct verify_error *error);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t errors;                /* out */
	uint64_t objects, nodes, bytes; /* out: checked */
};

/*
 * Check the store first (store_verify).  Then check all nodes: their ids against their records,
 * their rows against their records, their parents and their tombstones.  Then check everything
 * below their trees: every tree, chunk list and attribute set decodes, counts and sizes of
 * directories add up, every blob exists.  Finally check tags, HEADs, the journal, and the counts of
 * nodes and tags.
 *
 * Faults are passed to error().  The result is negative only if the check itself could not run.
 */
int verify_run(struct history *history, struct verify *verify, struct err *err);
