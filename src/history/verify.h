/*
 * verify - prove the history: every object re-hashed, every node re-linked.
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
	/* Called for each error, in no particular order; the memory is the caller's for the call.
	 */
	void (*error)(void *arg, const struct verify_error *error);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t errors;                /* out */
	uint64_t objects, nodes, bytes; /* out: checked */
};

/*
 * Store first (store_verify), then nodes: id against record, row against record, parent and
 * tombstones, tree closure (every tree, chunk list, attribute set decodes; counts and
 * sizes of directories add up; every blob exists), tags, HEADs, journal, node and tag counts.
 * ERR only when the check itself could not run.
 */
int verify_run(struct history *history, struct verify *verify, struct err *err);
