/*
 * treeapply - turn a live directory that holds tree A into tree B.
 *
 * It touches only what differs.  It removes only files that A has and that still look like that: a
 * file that came or changed meanwhile is left alone and reported, so nothing uncaptured is ever
 * lost.  Contents come from the store.  Files are written beside and renamed over.  Anything that
 * this machine cannot restore (an owner, a device node, an attribute) is reported, and the rest
 * goes on.
 *
 * After a crash half-way the directory is a mixture. Running treeapply again from a fresh scan
 * completes it.
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
	 * With TREEAPPLY_LAYER the directory is empty: 'from' is the tree below it, and the
	 * differences are written in the notation of overlayfs layers.
	 */
	enum treeapply_kind kind;
	struct store *store;
	const struct hash *from; /* the tree that is there now; NULL: an empty directory */
	const struct hash *to;
	int donor;     /* directory whose files may be cloned from, or -1 */
	bool durable;  /* sync before returning */
	bool squashed; /* leave owners alone: see treemerge.h */
	/* Added to each id of the tree at fd, where only such ids are known: see shifted.h. */
	uint32_t shift;
	const struct scan_skip
		*skip;           /* a directory to leave alone, or NULL: the environment itself */
	struct applied *applied; /* takes notes of what was made and changed, or NULL */
	struct report *report;
	struct treeapply_progress *progress; /* or NULL */
};

int treeapply_run(const struct treeapply_options *options, struct err *err);
