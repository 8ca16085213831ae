/*
 * layermerge - several layers that lie on each other, as one.
 *
 * Files are hard links to those of the layers merged, which nobody writes to: a
 * merge costs names, not bytes.  The layers merged stay as they are.
 */
#pragma once
#include "workspace/layerlinks.h"

/*
 * Make one layer of the topmost count layers of a chain, marked and preferred for the tree they
 * show; *number is its own.
 */
int layermerge_top(int dirfd, const struct layerlinks_chain *chain, size_t count, unsigned *number,
	struct err *err);
