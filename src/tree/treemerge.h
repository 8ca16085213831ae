/*
 * treemerge - what an overlay shows: a tree, and what lies in the layer above it.
 *
 * The upper layer comes as the tree that scan and ingest make of its directory
 * (scan_options.upper), whiteouts and marks of opaque directories included.
 * Costs follow the upper layer: directories only the lower tree has are taken over by their hash.
 */
#pragma once
#include "store/store.h"

struct treemerge_options {
	const struct hash *lower, *upper;
	/*
	 * Nobody could give a file away, so owners on disk mean nothing: a file keeps the
	 * one it has in lower, a new one gets that of its directory.
	 */
	bool squashed;
};

int treemerge_run(struct store *store, const struct treemerge_options *options, struct hash *merged,
	struct err *err);
