/*
 * layers - the directories below the overlays of an environment.
 *
 *	ROOT/base/N         base number N: a whole tree, or a link to one that lies
 *	                    outside and is used in place
 *	ROOT/base/N.tree    which tree that is
 *	ROOT/base/current   N of the one new overlays stand on
 *	ROOT/base/skeleton  mount points and the like, for trees that lack them
 *	ROOT/layers/N-TREE  what makes TREE of base N: written once, then only read
 *	ROOT/layers/N-TREE.ok
 *
 * Small values are the targets of symbolic links (stack.h).
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
/* Have an overlay show tree: fills all but the generation of stack; what is missing is made. */
int layers_for(
	const struct layers *layers, const struct hash *tree, struct stack *stack, struct err *err);
/* After a restart of the machine: make the layer of a stack again. */
int layers_check(const struct layers *layers, const struct stack *stack, struct err *err);

/* The tree a base was made from. */
int layers_base_tree(
	const struct layers *layers, unsigned number, struct hash *tree, struct err *err);

#define LAYERS_LOWER_MAX 3
#define LAYERS_PATH_MAX 96
/* The lower directories of a stack, topmost first, relative to the environment; how many. */
int layers_lower(const struct layers *layers, const struct stack *stack,
	char lower[LAYERS_LOWER_MAX][LAYERS_PATH_MAX], struct err *err);

/* What a workspace's directory calls the link to its stack. */
#define LAYERS_STACK "stack"
/* Remove every layer that no stack in the directories of work has. */
int layers_sweep(int rootfd, const char *work, struct err *err);
