/*
 * layerproof - checks whether a layer still shows the tree it was made for.
 *
 * A layer that was marked in an earlier boot of the machine, or whose freezing was interrupted, is
 * read and hashed as a whole.
 */
#pragma once
#include "workspace/layers.h"

/*
 * Prove that layer number, on top of the tree below, shows tree.  Returns 1 if the layer was marked
 * in this boot, or is proved and marked now.  Returns 0 if it does not show tree, and removes its
 * mark.
 */
int layerproof_one(const struct layers *layers, int dirfd, unsigned number,
	const struct hash *below, const struct hash *tree, struct err *err);

/*
 * Read every layer marked in this boot, and call bad for each that does not show its tree.  If
 * repair is set, also remove the mark of such a layer, so that the layer is made again before its
 * next use.
 */
int layerproof_all(const struct layers *layers, bool repair,
	void (*bad)(void *arg, unsigned number), void *arg, struct err *err);
