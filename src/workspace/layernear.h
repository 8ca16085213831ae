/*
 * layernear - which layer to start from, to show a tree that no layer shows yet.
 *
 * The nearest is the one from which the fewest entries and bytes are to be
 * written; a high chain counts against it.  Few layers are looked at: those below
 * the overlay that moves, those of the trees the caller thinks near, and the base.  Each look ends
 * when it costs more than the best so far.
 */
#pragma once
#include "workspace/layers.h"

/* stack comes with the base and its tree; it goes with what to start from. */
int layernear_find(const struct layers *layers, int dirfd, const struct hash *tree,
	const struct stack *here, struct stack *stack, struct err *err);
