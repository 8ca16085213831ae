/*
 * layers - the directories below the overlays of an environment.
 *
 *	ROOT/base/N         base number N: a whole tree, or a link to one that lies
 *	                    outside and is used in place
 *	ROOT/base/N.tree    which tree that is
 *	ROOT/base/N.size    the bytes it takes on disk
 *	ROOT/base/current   N of the one new overlays stand on
 *	ROOT/base/skeleton  mount points and the like, for trees that lack them
 *	ROOT/layers/        differences, each to a base or to another one (layerlinks.h)
 *
 * Layers form chains: one shows its tree together with all that it stands on.
 * A tree that no layer shows yet gets one on top of whichever is nearest to it
 * (layernear.h), so that its cost follows what differs.  The upper directory of an
 * overlay becomes a layer by a rename (overlay.c).
 *
 * A layer is a cache of the store.  It is never changed, so any number of overlays can
 * stand on it.  What no overlay stands on may be removed at any time (layertend.h).
 */
#pragma once
#include "core/lock.h"
#include "store/store.h"
#include "tree/report.h"
#include "tree/treeapply.h"
#include "workspace/layerlinks.h"
#include "workspace/stack.h"

struct layers {
	int rootfd; /* borrowed, as all below */
	struct store *store;
	bool squashed; /* owners cannot be given: see treemerge.h */
	struct report *report;
	struct treeapply_progress *progress;
	/* Trees that are likely near to one that is asked for, the nearest first. */
	const struct hash *near;
	size_t n_near;
	int donor;    /* directory whose files may be cloned from, or -1 */
	bool *untidy; /* set when somebody should look after the layers (layertend.h); or NULL */
};

/*
 * Make tree the base all new overlays stand on, materialised here, with files cloned
 * from donor (-1: none) where that works; or, with place, what lies there already.
 */
int layers_make_base(const struct layers *layers, const struct hash *tree, const char *place,
	int donor, struct err *err);
/* The tree a base was made from. */
int layers_base_tree(
	const struct layers *layers, unsigned number, struct hash *tree, struct err *err);

/* What the bases take on disk. */
uint64_t layers_base_bytes(int rootfd);

/*
 * Keep layers from being removed (LOCK_SHARED), from before one is chosen until an overlay
 * stands on it; or keep others from choosing (LOCK_EXCLUSIVE).  A descriptor to close.
 */
int layers_hold(int rootfd, enum lock_mode mode, int wait_ms, struct err *err);

/*
 * Have an overlay show tree: fills base, top and tree of stack.  A missing layer is made.
 * here: what the overlay stands on now, or NULL.  The caller holds the layers.
 */
int layers_for(const struct layers *layers, const struct hash *tree, const struct stack *here,
	struct stack *stack, struct err *err);
/*
 * Prove what was not proved since the machine was started, and make again what is not what it
 * should be.  1 when stack has another top now, which the caller writes down.
 */
int layers_check(const struct layers *layers, struct stack *stack, struct err *err);

/* The same for a shorter chain that shows the same tree; only while nothing is mounted. */
int layers_shorten(const struct layers *layers, struct stack *stack, struct err *err);
/* How many layers a stack has. */
size_t layers_depth(const struct layers *layers, const struct stack *stack);

/* A number for a directory that will show tree on top of stack, when it is put there. */
int layers_reserve(const struct layers *layers, const struct stack *stack, const struct hash *tree,
	unsigned *number, struct err *err);
/* What was put at layers/NUMBER since, which the caller answers for, counts from now on. */
int layers_reserved_done(const struct layers *layers, unsigned number, struct err *err);
/* Whether a layer shows tree already. */
bool layers_has(const struct layers *layers, const struct hash *tree);

#define LAYERS_LOWER_MAX (LAYERLINKS_DEPTH_MAX + 2)
#define LAYERS_PATH_MAX 24
/* The lower directories of a stack, topmost first, relative to the environment; how many. */
int layers_lower(const struct layers *layers, const struct stack *stack,
	char lower[LAYERS_LOWER_MAX][LAYERS_PATH_MAX], struct err *err);

/* What a workspace's directory calls the link to its stack, and that to what is mounted. */
#define LAYERS_STACK "stack"
#define LAYERS_MOUNTED "mounted"
#define LAYERS_HOLD_MS 10000 /* to wait for the layers */
