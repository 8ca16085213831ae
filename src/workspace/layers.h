/*
 * layers - the directories below the overlays of an environment.
 *
 *	ROOT/base/current   the base in use, as a stack
 *	ROOT/base/TREE      a whole tree, materialised
 *	ROOT/base/skeleton  mount points and the like, for trees that lack them
 *	ROOT/layers/BASE-TREE, BASE-TREE.ok
 *	                    what makes TREE of BASE: written once, then only read
 *
 * A layer is a cache of the store and is not synced: it counts for as long as
 * the machine has not been started anew since, and is made again after that.
 * It is never changed, so any number of overlays can stand on it.
 */
#pragma once
#include "store/store.h"
#include "tree/report.h"
#include "tree/treeapply.h"
#include "workspace/stack.h"

struct layers {
	int rootfd; /* borrowed, as all below */
	struct store *store;
	bool squashed; /* owners cannot be given: see treemerge.h */
	struct report *report;
	struct treeapply_progress *progress;
};

/*
 * Make tree the base all new overlays stand on, materialised here, with files cloned
 * from donor (-1: none) where that works; or, with place, what lies there already.
 */
int layers_make_base(const struct layers *layers, const struct hash *tree, const char *place,
	int donor, struct err *err);
/* The lower layers of an overlay that shows tree; what is missing is made. */
int layers_for(
	const struct layers *layers, const struct hash *tree, struct stack *stack, struct err *err);
/* After a restart of the machine: make the layers of a stack again. */
int layers_check(const struct layers *layers, const struct stack *stack, struct err *err);
/* Remove every layer that no stack of these directories (ROOT/work/NAME) has. */
int layers_sweep(int rootfd, const char *work, const char *stack_name, struct err *err);
