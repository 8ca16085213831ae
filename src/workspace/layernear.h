/*
 * layernear - chooses the layer on top of which a new layer is made.
 *
 * The best layer is the one on which the fewest entries and bytes have to be written.  A long chain
 * makes a layer less suitable.  Only a few candidates are compared: some layers of the stack that
 * the overlay has now, the layers of trees that the caller expects to be similar, and the base.  A
 * comparison ends as soon as its cost exceeds the lowest cost so far.
 */
#pragma once
#include "workspace/layers.h"

/*
 * Find the stack on which to make a layer that shows the given tree.  Before the call, the caller
 * must set *stack to the base and its tree.  After the call, *stack is the stack that was found.
 * The parameter 'here' is the present stack of the overlay, or NULL.
 */
int layernear_find(const struct layers *layers, int dirfd, const struct hash *tree,
	const struct stack *here, struct stack *stack, struct err *err);
