/*
 * layermerge - merges several layers that lie on each other into one layer.
 *
 * The files of the new layer are hard links to the files of the merged layers, which are never
 * written to.  So the cost of a merge depends on the number of names, and not on their bytes.  The
 * merged layers are not changed.
 */
#pragma once
#include "workspace/layerlinks.h"

/*
 * Merge the topmost count layers of chain into a new layer.  *number is set to its number.  The new
 * layer is marked and preferred.
 */
int layermerge_top(int dirfd, const struct layerlinks_chain *chain, size_t count, unsigned *number,
	struct err *err);
