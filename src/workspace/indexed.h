/*
 * indexed - capture the live directory of a workspace, compared with the index of the last capture.
 *
 * All backends use this.  A new index is written beside the old one while the capture runs, and
 * replaces it when every object it names is durable.
 */
#pragma once
#include "workspace/backend.h"

/* The members other than lower are described in scan.h. */
struct indexed_options {
	const struct hash *lower; /* ws->live is the upper of an overlay on this tree; or NULL */
	bool other_ids;
	const struct hash *adopt;
	const struct applied *applied;
	const struct scan_inodes *changed;
};

int indexed_capture(struct workspace *ws, const struct indexed_options *with, struct hash *tree,
	struct err *err);
/*
 * Find the files of the live tree that programs have mapped.  Returns false if there can be none.
 */
bool indexed_mapped(const struct workspace *ws, struct mapped *mapped);
/* See workspace_discard. */
int indexed_discard(struct workspace *ws, struct err *err);
/* See workspace_save_index. */
int indexed_save(struct workspace *ws, struct err *err);
/* Give up a capture whose index was not saved. */
void indexed_drop(struct workspace *ws);
/*
 * Give up a capture that was not saved, and close the live directory and the directory of index
 * files.
 */
void indexed_close(struct workspace *ws);

/*
 * Set *skip to the environment's own directory, which may lie in the live tree.  Returns false if
 * the directory cannot be looked at.
 */
bool indexed_own_place(const struct workspace *ws, struct scan_skip *skip);
