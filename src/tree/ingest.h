/*
 * ingest - the second half of a capture: reads and stores the files that the scan marked as
 * changed, and builds the trees of their directories.
 *
 * A few threads read, hash and compress files.  The calling thread builds the trees in order.
 * Memory is needed for a limited window of entries, one unfinished node for each directory level,
 * and the buffers of the threads.
 */
#pragma once
#include <stdatomic.h>

#include "tree/scan.h"

struct ingest_progress {
	_Atomic uint64_t files; /* files read so far */
	_Atomic uint64_t bytes;
};

struct ingest_options {
	int fd; /* the directory that was scanned */
	struct store *store;
	struct report *report;
	struct ingest_progress *progress; /* counters of the files and bytes read, or NULL */
	const struct mapped *mapped;      /* files mapped for writing; NULL: none */
	/*
	 * The tree of the lower layer if fd is the upper layer of an overlay, else NULL.  The
	 * result is the tree that the two layers show together (treemerge.h).  The index is valid
	 * only with the same lower tree.
	 */
	const struct hash *lower;
	bool squashed;
};

/* Set *tree to the hash of the whole tree, and bring the index of the scan up to date. */
int ingest_run(struct scan *scan, const struct ingest_options *options, struct hash *tree,
	struct err *err);
