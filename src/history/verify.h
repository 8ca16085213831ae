/*
 * verify - check the whole history: hash every object again, follow every link of nodes.
 */
#pragma once
#include "history/history.h"
#include "history/treeproof.h"

#define VERIFY_NODES_LISTED TREEPROOF_USERS /* ids named per error; the count is exact */

struct verify_error {
	const char *what;             /* "blob 0123456789ab: content does not match its hash" */
	const char (*nodes)[NODE_ID]; /* nodes it touches, at most VERIFY_NODES_LISTED */
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
 * Check the store first (store_verify), then nodes: id against record, row against record, parents
 * and tombstones; then everything below their trees (every tree, chunk list and attribute set
 * decodes, counts and sizes of directories add up, every blob exists); then tags, HEADs, the
 * journal, and the counts of nodes and tags.  Fails only when the check itself could not run.
 */
int verify_run(struct history *history, struct verify *verify, struct err *err);
