/*
 * layermerge - merges several layers that lie on each other into one layer.
 *
 * The files of the new layer are hard links to the files of the merged layers.  This is safe,
 * because no file of a layer is ever written to.  So the cost of a merge depends on the number of
 * names, and not on the sizes of the files.  The merged layers are not changed.
 */
#pragma once
#include "workspace/layerlinks.h"

/*
 * Merge the topmost layers of a chain into a new layer.  The parameter 'count' is the number of
 * merged layers, and *number is set to the number of the new layer.  The new layer is marked as
 * whole, and checkouts of its tree use it.
 */
int layermerge_top(int dirfd, const struct layerlinks_chain *chain, size_t count, unsigned *number,
	struct err *err);
