/*
 * layertend - maintains the layers of an environment, so that chains stay short and the disk use is
 * limited.
 *
 *	measure   count the entries and bytes of new layers
 *	merge     merge chains longer than LAYERTEND_DEPTH that an overlay uses.  The overlay
 *	          takes the merged layer at its next mount
 *	drop      drop layers without a mark, layers with a mark of an earlier boot, and layers
 *	          that another layer of the same tree has replaced.  Then drop the layers whose
 *	          last use is longest ago, until the others fit into the limit.  Layers that an
 *	          overlay uses or has mounted are never dropped
 *
 * Only one process maintains layers at a time.  Other processes wait only while the dropped layers
 * are renamed.  The files of these layers are removed after that.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "workspace/layerlinks.h"

/*
 * A chain with more layers than this is merged.  Row 18 of the benchmark measures how long look-ups
 * and the compiling of programs take at this depth.
 */
#define LAYERTEND_DEPTH 8
/*
 * Layers are maintained after this many new layers.  They are also maintained right after a new
 * layer that is larger than layertend_step.  Each run leaves room for the layers that can be made
 * before the next run, so that the limit also holds between runs.
 */
#define LAYERTEND_EACH 32

struct layertend_options {
	/* wait while another process maintains layers; else leave the work to that process */
	bool wait;
	/*
	 * Returns false if layers that show this tree are no longer needed and are to be dropped.
	 * If the pointer is NULL, no layer is dropped because of its tree.
	 */
	bool (*useful)(void *arg, const struct hash *tree);
	void *arg;
};

int layertend_run(int rootfd, const struct layertend_options *options, struct err *err);

/* Returns a number of bytes.  A new layer that is larger causes maintenance at once. */
uint64_t layertend_step(int rootfd);

struct layertend_usage {
	uint64_t taken, limit; /* in bytes */
};
/* Find out how many bytes all layers take, and how many they may take. */
int layertend_usage(int rootfd, struct layertend_usage *usage, struct err *err);
/* Set the maximum number of bytes for all layers.  0 means a share of the disk. */
int layertend_set_limit(int rootfd, uint64_t bytes, struct err *err);
