/*
 * ingest - second half of a capture: read what scan found changed, store it,
 * and build the trees of the directories around it.
 *
 * Files are read, hashed and compressed by a few threads; trees are built in
 * order by the calling one.  Memory is a bounded window of entries, one
 * unfinished node per directory level, and the threads' buffers.
 */
#pragma once
#include <stdatomic.h>

#include "tree/scan.h"

struct ingest_progress {
	_Atomic uint64_t files; /* read so far */
	_Atomic uint64_t bytes;
};

struct ingest_options {
	int fd; /* the directory that was scanned */
	struct store *store;
	struct report *report;
	struct ingest_progress *progress; /* or NULL */
	const struct mapped *mapped;      /* or NULL: nothing is */
	/*
	 * It is the upper layer of an overlay, and this tree lies below: the result is what
	 * both show (treemerge.h).  The index is of use only as long as that is the same.
	 */
	const struct hash *lower;
	bool squashed;
};

/* *tree gets the hash of the whole tree; the index of scan is brought up to date with it. */
int ingest_run(struct scan *scan, const struct ingest_options *options, struct hash *tree,
	struct err *err);
