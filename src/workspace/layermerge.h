/*
 * layermerge - make one layer of several that lie on each other.
 *
 * Its files are hard links to files of the merged layers, which nobody writes to: a merge costs
 * names, not bytes.  The merged layers stay as they are.
 */
#pragma once
#include "workspace/layerlinks.h"

/* The new layer, *number, replaces the topmost count layers; it is marked and preferred. */
int layermerge_top(int dirfd, const struct layerlinks_chain *chain, size_t count, unsigned *number,
	struct err *err);
