/*
 * treeapply - turn a live directory that holds tree A into tree B.
 *
 * Touches only what differs.  It removes only what A says is there and what
 * still looks like it: a file that came or changed meanwhile is left alone and
 * reported, so nothing uncaptured is ever lost.  Contents come from the store;
 * files are written beside and renamed over.  What this machine cannot restore
 * (an owner, a device node, an attribute) is reported and the rest goes on.
 *
 * After a crash half-way the directory is a mixture; running it again from a
 * fresh scan completes it.
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
	TREEAPPLY_LIVE,  /* a directory as it is */
	TREEAPPLY_BASE,  /* the same, at the bottom of an overlay */
	TREEAPPLY_LAYER, /* above one */
};

struct treeapply_options {
	int fd; /* the live directory; borrowed */
	/*
	 * fd is to become a layer for an overlay.  With TREEAPPLY_LAYER it holds nothing yet:
	 * from is what lies below it, and what differs is written as a layer says it.
	 */
	enum treeapply_kind kind;
	struct store *store;
	const struct hash *from; /* what is there now; NULL: an empty directory */
	const struct hash *to;
	int donor;     /* directory whose files may be cloned from, or -1 */
	bool durable;  /* sync before returning */
	bool squashed; /* leave owners alone: see treemerge.h */
	/* An id of the tree is so much more at fd, where only such ids are known: see shifted.h. */
	uint32_t shift;
	const struct scan_skip
		*skip;           /* a directory to leave alone, or NULL: the environment itself */
	struct applied *applied; /* takes what was made and changed, or NULL */
	struct report *report;
	struct treeapply_progress *progress; /* or NULL */
};

int treeapply_run(const struct treeapply_options *options, struct err *err);
