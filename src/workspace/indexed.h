/*
 * indexed - captures the live directory of a workspace by comparing it with the index of the last
 * capture.
 *
 * All backends use this file.  While a capture runs, a new index is written beside the old index.
 * The new index replaces the old one when every object that the new index names is durable.
 */
#pragma once
#include "workspace/backend.h"

/* Options of a capture.  All members except 'lower' are described in scan.h. */
struct indexed_options {
	/* tree below the upper directory ws->live of an overlay; else NULL */
	const struct hash *lower;
	bool other_ids;
	const struct hash *adopt;
	const struct applied *applied;
	const struct scan_inodes *changed;
};

int indexed_capture(struct workspace *ws, const struct indexed_options *with, struct hash *tree,
	struct err *err);
/*
 * Find the files of the live tree that programs have mapped.  Returns false if no program can have
 * mapped a file of the live tree.
 */
bool indexed_mapped(const struct workspace *ws, struct mapped *mapped);
/* Does the work of workspace_discard. */
int indexed_discard(struct workspace *ws, struct err *err);
/* Does the work of workspace_save_index. */
int indexed_save(struct workspace *ws, struct err *err);
/* Discard a capture whose index was not saved. */
void indexed_drop(struct workspace *ws);
/*
 * Discard a capture whose index was not saved, and close the live directory and the directory of
 * index files.
 */
void indexed_close(struct workspace *ws);

/*
 * Set *skip to the environment's own directory, which may be inside the live tree.  Returns false
 * if stat fails for that directory.
 */
bool indexed_own_place(const struct workspace *ws, struct scan_skip *skip);
