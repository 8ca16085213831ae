/*
 * layerproof - checks whether a layer still shows the tree that it was made for.
 *
 * A layer is read and hashed as a whole if its mark is from an earlier boot of the machine.  The
 * same is done if an interrupted freeze has left the layer without a mark.
 */
#pragma once
#include "workspace/layers.h"

/*
 * Prove that a layer shows 'tree' when it lies on the tree 'below'.  Returns 1 if the layer has a
 * mark of this boot, or has been proved and marked by this call.  If the layer shows another tree,
 * its mark is removed, and 0 is returned.
 */
int layerproof_one(const struct layers *layers, int dirfd, unsigned number,
	const struct hash *below, const struct hash *tree, struct err *err);

/*
 * Read every layer with a mark of this boot, and call the function 'bad' for each layer that does
 * not show its tree.  If 'repair' is true, the mark of such a layer is also removed, so that the
 * layer is made again before its next use.
 */
int layerproof_all(const struct layers *layers, bool repair,
	void (*bad)(void *arg, unsigned number), void *arg, struct err *err);
