/*
 * layermerge - merges several layers that lie on each other into one.
 *
 * The files of the new layer are hard links to files of the merged layers, which nobody writes to.
 * So a merge costs names, not bytes.  The merged layers stay as they are.
 */
#pragma once
#include "workspace/layerlinks.h"

/*
 * Merge the topmost count layers of chain into a new layer, *number, which is marked and preferred.
 */
int layermerge_top(int dirfd, const struct layerlinks_chain *chain, size_t count, unsigned *number,
	struct err *err);
