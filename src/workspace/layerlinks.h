/*
 * layerlinks - the data that are recorded about each layer, and the chains that layers form.
 *
 *	layers/N      layer number N: the difference to the tree below it
 *	layers/N.on   BELOW.TREE.  BELOW is the number of the layer on which layer N lies, or
 *	              @B for base number B.  TREE is the tree that layer N shows on top of BELOW
 *	layers/N.ok   the mark of layer N, which says that the layer is whole.  The text is
 *	              BOOT, or BOOT.ENTRIES.BYTES if layer N was measured.  BOOT~ stands in
 *	              place of BOOT if this machine could not restore all of the layer's tree
 *	layers/TREE   N: the layer that checkouts of TREE use
 *	layers/next   the number to try first for a new layer
 *	layers/limit  maximum number of bytes of all layers; absent: a share of the disk
 *
 * BOOT identifies the boot of the machine during which the mark was made.  Everything except the
 * layers themselves is kept in targets of symbolic links (stack.h).
 *
 * The mark N.ok is made after all other parts of a layer, and removed before them.  Layers are not
 * synced, so a power cut may damage a layer and leave its mark.  So a mark is valid only until the
 * next boot of the machine.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/hash.h"

#define LAYERLINKS_DIR "layers"
#define LAYERLINKS_DEPTH_MAX 64 /* maximum number of layers in a chain */
#define LAYERLINKS_NAME 16      /* size of a name such as N.on, with the NUL */
#define LAYERLINKS_NEXT "next"
#define LAYERLINKS_LIMIT "limit"

struct layerlinks_on {
	unsigned below; /* number of the layer below; 0: the layer lies on a base */
	unsigned base;  /* number of the base, if below is 0 */
	struct hash tree;
};

struct layerlinks_ok {
	bool whole;    /* the layer has a mark of this boot */
	bool inexact;  /* this machine could not restore all of the layer's tree */
	bool measured; /* 'entries' and 'bytes' are known */
	uint64_t entries, bytes;
};

/*
 * Write a file name of the layer with this number to 'out', and return 'out'.  The suffix is ".on"
 * or ".ok", or "" for the name of the layer itself.
 */
const char *layerlinks_name(char out[LAYERLINKS_NAME], unsigned number, const char *suffix);
/*
 * Whether a file name is that of a layer, without a suffix.  If so, *number is set to the number of
 * the layer.
 */
bool layerlinks_is_layer(const char *name, unsigned *number);

/* Read the link N.on or N.ok of a layer.  Returns 1, or 0 if there is no such link. */
int layerlinks_read_on(int dirfd, unsigned number, struct layerlinks_on *on, struct err *err);
int layerlinks_read_ok(int dirfd, unsigned number, struct layerlinks_ok *ok, struct err *err);
/* Mark a layer as whole.  The mark also records the other members of *ok. */
int layerlinks_mark(int dirfd, unsigned number, const struct layerlinks_ok *ok, struct err *err);
int layerlinks_unmark(int dirfd, unsigned number, struct err *err);
/*
 * Returns a short text that identifies this boot of the machine.  Returns NULL if the kernel
 * provides no boot id.
 */
const char *layerlinks_boot(void);

/*
 * Find the layer that checkouts of a tree use.  Returns 1 with its number, or 0 if no layer shows
 * the tree.
 */
int layerlinks_find(int dirfd, const struct hash *tree, unsigned *number, struct err *err);
int layerlinks_prefer(int dirfd, const struct hash *tree, unsigned number, struct err *err);

/*
 * Reserve a number for a new layer by writing its link N.on.  The caller must then make the layer's
 * directory.
 */
int layerlinks_reserve(
	int dirfd, const struct layerlinks_on *on, unsigned *number, struct err *err);
/* Remove a layer that has no mark yet, together with its links. */
void layerlinks_give_up(int dirfd, unsigned number);

/* A layer and all layers below it, the topmost first. */
struct layerlinks_chain {
	unsigned base;
	size_t n;
	struct {
		unsigned number;
		struct hash tree;
	} layer[LAYERLINKS_DEPTH_MAX];
};

/*
 * Fill *chain with the layer whose number is 'top' and all layers below that layer.  If 'top' is 0,
 * the chain is empty and lies on the given base.  Returns 1, or 0 if a link is missing or the chain
 * is too long.
 */
int layerlinks_chain(
	int dirfd, unsigned top, unsigned base, struct layerlinks_chain *chain, struct err *err);
/* Whether every layer of the chain is whole. */
bool layerlinks_chain_whole(int dirfd, const struct layerlinks_chain *chain);
