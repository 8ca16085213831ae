/*
 * layerproof - whether a layer still shows what it was made for.
 *
 * A layer that was marked before the machine was last started, or whose freezing was cut
 * off, is read whole and hashed.
 */
#pragma once
#include "workspace/layers.h"

/*
 * 1 when layer number shows tree over the tree below it: marked so, or proved and marked now.
 * 0 when it does not: its mark is gone then.
 */
int layerproof_one(const struct layers *layers, int dirfd, unsigned number,
	const struct hash *below, const struct hash *tree, struct err *err);

/*
 * Read every layer whose mark counts, and tell of each that does not show its tree.  repair: take
 * its mark away, so that it is made again before it is next used.
 */
int layerproof_all(const struct layers *layers, bool repair,
	void (*bad)(void *arg, unsigned number), void *arg, struct err *err);
