/*
 * treeapply - turns a live directory that holds tree A into tree B.
 *
 * Only files that differ are touched.  A file is removed only if A has the file, and the file still
 * looks as in A.  A file that was added or changed meanwhile is left alone and reported.  Contents
 * come from the store.  A file that replaces another file is written under a temporary name, and is
 * then renamed over the other file.  Anything that this machine cannot restore (an owner, a device
 * node, an attribute) is reported, and treeapply goes on.
 *
 * After a crash the directory is a mixture of A and B.  To complete the change, scan the directory
 * again, and run treeapply from the scanned tree to B.
 */
#pragma once
#include <stdatomic.h>

#include "store/store.h"
#include "tree/applied.h"
#include "tree/report.h"
#include "tree/scan.h"
#include "tree/treeiter.h"

struct treeapply_progress {
	_Atomic uint64_t entries;
	_Atomic uint64_t bytes;
};

enum treeapply_kind {
	TREEAPPLY_LIVE,  /* an ordinary directory */
	TREEAPPLY_BASE,  /* an ordinary directory that is the bottom of an overlay */
	TREEAPPLY_LAYER, /* a layer above the bottom */
};

struct treeapply_options {
	int fd; /* the live directory; borrowed */
	/*
	 * With TREEAPPLY_LAYER, fd must be an empty directory, and 'from' must be the tree below
	 * the layer.  The differences are written in the notation of overlayfs layers.
	 */
	enum treeapply_kind kind;
	struct store *store;
	const struct hash *from; /* the tree that fd holds now; NULL: fd is empty */
	const struct hash *to;
	int donor;     /* directory whose files may be cloned, or -1 */
	bool durable;  /* sync the files before treeapply_run returns */
	bool squashed; /* owners are not set: see treemerge.h */
	/*
	 * If fd is seen through a mount that moves ids (shifted.h): the number that is added to
	 * each id of the tree; else 0.
	 */
	uint32_t shift;
	/* a directory that is left alone, for instance the environment itself; or NULL */
	const struct scan_skip *skip;
	struct applied *applied; /* notes about the inodes that were made or changed, or NULL */
	struct report *report;
	struct treeapply_progress *progress; /* counters of the entries and bytes done, or NULL */
};

int treeapply_run(const struct treeapply_options *options, struct err *err);
