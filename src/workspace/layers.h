/*
 * layers - the directories below the overlays of an environment.
 *
 *	ROOT/base/N         base number N: a whole tree, or a link to a directory outside the
 *	                    environment that is used in place
 *	ROOT/base/N.tree    the hash of the base's tree
 *	ROOT/base/N.size    the number of bytes that the base takes on disk
 *	ROOT/base/current   the number of the base that new overlays use
 *	ROOT/base/skeleton  mount points and the like, for trees that lack them
 *	ROOT/layers/        differences, each to a base or to another layer (layerlinks.h)
 *
 * Layers form chains.  A layer, together with all layers below it and the base, shows one tree.  A
 * new layer for a tree is made on top of the layer whose tree differs least from that tree
 * (layernear.h).  So the cost of the new layer depends on this difference.  The upper directory of
 * an overlay becomes a layer by a rename (overlay.c).
 *
 * A layer is a cache of the store.  It never changes, so any number of overlays can use it.  A
 * layer that no overlay uses may be removed at any time (layertend.h).
 */
#pragma once
#include "core/lock.h"
#include "store/store.h"
#include "tree/report.h"
#include "tree/treeapply.h"
#include "workspace/layerlinks.h"
#include "workspace/stack.h"

struct layers {
	int rootfd; /* borrowed, like all descriptors and pointers below */
	struct store *store;
	bool squashed; /* owners cannot be set on disk; see treemerge.h */
	struct report *report;
	struct treeapply_progress *progress;
	/* Trees that probably differ little from the wanted tree, the nearest first. */
	const struct hash *near;
	size_t n_near;
	int donor;    /* directory whose files may be cloned; -1: none */
	bool *untidy; /* set to true if layertend_run has something to do; may be NULL */
};

/*
 * Make a base with the given tree, which all later overlays use.  If 'place' is not NULL, the
 * directory at this path becomes the base, and must already have the tree.  Otherwise the tree is
 * written to a new directory, and files are cloned from 'donor' (-1: none) where possible.
 */
int layers_make_base(const struct layers *layers, const struct hash *tree, const char *place,
	int donor, struct err *err);
/* Set *tree to the tree of a base. */
int layers_base_tree(
	const struct layers *layers, unsigned number, struct hash *tree, struct err *err);

/* Returns the bytes that all bases take on disk. */
uint64_t layers_base_bytes(int rootfd);

/*
 * Lock the layers.  No layer is removed while a process holds LOCK_SHARED.  So a caller takes this
 * lock before it chooses a layer, and keeps it until an overlay uses that layer.  LOCK_EXCLUSIVE
 * keeps other processes from choosing layers.  Returns a descriptor.  The caller unlocks by closing
 * the descriptor.
 */
int layers_lock(int rootfd, enum lock_mode mode, struct err *err);

/*
 * Set the members base, top and tree of *stack so that an overlay on the stack shows the given
 * tree.  A layer is made if none shows that tree.  The parameter 'here' is the present stack of the
 * overlay, or NULL.  The caller must hold the lock of layers_lock.
 */
int layers_find_or_make(const struct layers *layers, const struct hash *tree,
	const struct stack *here, struct stack *stack, struct err *err);
/*
 * Prove each layer of a stack, unless the layer was already proved since the boot of the machine.
 * A layer that does not show its tree is replaced.  Returns 1 if the top of the stack has changed.
 * The caller must then save the stack.
 */
int layers_check(const struct layers *layers, struct stack *stack, struct err *err);

/*
 * Change a stack to a shorter chain that shows the same tree, if such a chain exists.  The caller
 * must make sure that nothing is mounted.  Returns 1 if the top of the stack has changed.  The
 * caller must then save the stack.
 */
int layers_shorten(const struct layers *layers, struct stack *stack, struct err *err);
/* Returns the number of layers in a stack. */
size_t layers_depth(const struct layers *layers, const struct stack *stack);

/*
 * Reserve the number of a layer that will show the given tree on top of a stack.  Later the caller
 * must move the layer to layers/NUMBER.
 */
int layers_reserve(const struct layers *layers, const struct stack *stack, const struct hash *tree,
	unsigned *number, struct err *err);
/* Mark the layer that the caller has moved to layers/NUMBER.  The layer must show its tree. */
int layers_complete(const struct layers *layers, unsigned number, struct err *err);
/* Whether there is a layer that shows the given tree. */
bool layers_has(const struct layers *layers, const struct hash *tree);

#define LAYERS_LOWER_MAX (LAYERLINKS_DEPTH_MAX + 2)
#define LAYERS_PATH_MAX 24
/*
 * List the lower directories of a stack, the topmost first, as paths relative to the environment.
 * Returns the number of directories.
 */
int layers_lower(const struct layers *layers, const struct stack *stack,
	char lower[LAYERS_LOWER_MAX][LAYERS_PATH_MAX], struct err *err);

/*
 * Symbolic links in the directory of a workspace: the stack, and the top layer of the last mount.
 */
#define LAYERS_STACK "stack"
#define LAYERS_MOUNTED "mounted"
