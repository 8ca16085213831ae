/*
 * layernear - chooses the layer on top of which a layer for another tree is made.
 *
 * The best layer is the one that leaves the fewest entries and bytes to write; a long chain counts
 * against it.  Only a few layers are compared: those below the overlay that is to show the tree,
 * those of trees that the caller expects to be similar, and the base.  A comparison ends as soon as
 * it costs more than the best so far.
 */
#pragma once
#include "workspace/layers.h"

/*
 * Find the stack to start from for a layer that shows tree.  The caller sets stack to the base and
 * its tree, and gets the result in it.  here is the stack that the overlay has now, or NULL.
 */
int layernear_find(const struct layers *layers, int dirfd, const struct hash *tree,
	const struct stack *here, struct stack *stack, struct err *err);
