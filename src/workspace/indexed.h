/*
 * indexed - capture the live directory of a workspace against the index of the last time.
 *
 * What the backends that keep files in a directory have in common: a new index
 * is written beside the old one while the capture runs, and takes its place when
 * everything it speaks of is durable.
 */
#pragma once
#include "workspace/backend.h"

struct indexed_how {
	const struct hash *lower; /* ws->live is a layer of an overlay over this, or NULL */
	bool other_ids;           /* see scan.h */
	const struct hash *adopt; /* what was just written there, or NULL: see scan.h */
	const struct applied *applied;
	const struct scan_inodes *changed; /* see scan.h */
};

int indexed_capture(
	struct workspace *ws, const struct indexed_how *how, struct hash *tree, struct err *err);
/* The files that programs have mapped; false when they cannot have any. */
bool indexed_mapped(const struct workspace *ws, struct mapped *mapped);
/* See workspace_discard. */
int indexed_discard(struct workspace *ws, struct err *err);
int indexed_settle(struct workspace *ws, struct err *err);
/* Give up a capture that was not settled. */
void indexed_drop(struct workspace *ws);

/* The environment's own directory, which may lie in the live tree. */
bool indexed_own_place(const struct workspace *ws, struct scan_skip *skip);
