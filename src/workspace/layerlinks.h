/*
 * layerlinks - what is written down of each layer, and the chains they form.
 *
 *	layers/N      layer number N: what differs from the tree below it
 *	layers/N.on   BELOW.TREE: what layer N stands on, and the tree that both show together.
 *	              BELOW is the number of a layer, or @B for base number B
 *	layers/N.ok   BOOT, or BOOT.ENTRIES.BYTES once layer N was measured: layer N is whole.
 *	              BOOT~ instead of BOOT: as far as this machine can restore its tree
 *	layers/TREE   N: the layer to take for TREE
 *	layers/next   the number to try first for a new layer
 *	layers/limit  how many bytes all layers may take; absent: a share of the disk
 *
 * All but the layers themselves are targets of symbolic links (stack.h).
 *
 * Layers are not synced.  The mark N.ok comes after everything else of a layer and goes
 * before everything else.  It holds for one boot of the machine: a power cut may
 * have torn what the mark speaks of.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/hash.h"

#define LAYERLINKS_DIR "layers"
#define LAYERLINKS_DEPTH_MAX 64 /* layers of a chain */
#define LAYERLINKS_NAME 16      /* N.on and the like, with its end */
#define LAYERLINKS_NEXT "next"
#define LAYERLINKS_LIMIT "limit"

struct layerlinks_on {
	unsigned below; /* number of a layer, or 0: a base */
	unsigned base;  /* its number, with below 0 */
	struct hash tree;
};

struct layerlinks_ok {
	bool whole;    /* marked in this boot */
	bool inexact;  /* not all of the tree could be restored here */
	bool measured; /* the two below are known */
	uint64_t entries, bytes;
};

/* The name of what belongs to layer number: suffix "" is the layer itself. */
const char *layerlinks_name(char out[LAYERLINKS_NAME], unsigned number, const char *suffix);
/* Whether a name is that of a layer itself; its number. */
bool layerlinks_is_layer(const char *name, unsigned *number);

/* Both: 1 read, 0 there is none. */
int layerlinks_read_on(int dirfd, unsigned number, struct layerlinks_on *on, struct err *err);
int layerlinks_read_ok(int dirfd, unsigned number, struct layerlinks_ok *ok, struct err *err);
/* Mark a layer as whole from now on, with the rest of ok. */
int layerlinks_mark(int dirfd, unsigned number, const struct layerlinks_ok *ok, struct err *err);
int layerlinks_unmark(int dirfd, unsigned number, struct err *err);
/* This boot of the machine as a short text; NULL where the kernel does not say. */
const char *layerlinks_boot(void);

/* The layer to take for a tree: 1 with its number, 0 none. */
int layerlinks_find(int dirfd, const struct hash *tree, unsigned *number, struct err *err);
int layerlinks_prefer(int dirfd, const struct hash *tree, unsigned number, struct err *err);

/* A number for a new layer, which is written down; its directory is for the caller to make. */
int layerlinks_reserve(
	int dirfd, const struct layerlinks_on *on, unsigned *number, struct err *err);
/* Take back a layer that has no mark. */
void layerlinks_give_up(int dirfd, unsigned number);

/* The layers that one stands on, topmost first, itself included. */
struct layerlinks_chain {
	unsigned base;
	size_t n;
	struct {
		unsigned number;
		struct hash tree;
	} layer[LAYERLINKS_DEPTH_MAX];
};

/* 1, or 0 when a link of the chain is missing. */
int layerlinks_chain(
	int dirfd, unsigned top, unsigned base, struct layerlinks_chain *chain, struct err *err);
/* Whether every layer of it is whole. */
bool layerlinks_chain_whole(int dirfd, const struct layerlinks_chain *chain);
