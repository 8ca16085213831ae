/*
 * layertend - maintain the layers of an environment: short chains, bounded disk use.
 *
 *	measure   count the entries and bytes of new layers
 *	merge     chains longer than LAYERTEND_DEPTH that an overlay uses; the overlay takes
 *	          the merged layer at its next mount
 *	drop      layers without a mark, layers of an earlier boot, and layers to which another
 *	          one is preferred; then those that were not used for longest, until all layers
 *	          together fit into the limit.  Layers that an overlay uses or has mounted are kept
 *
 * Only one process maintains layers at a time.  Other processes wait only while layers are taken
 * out of use by a rename; their files are removed after that.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "workspace/layerlinks.h"

/*
 * A chain of more layers is merged.  Row 18 of bench measures lookups and compiles at this depth.
 */
#define LAYERTEND_DEPTH 8
/*
 * Layers are maintained after this many new ones, and at once after a layer that is larger than
 * layertend_step.  Each run leaves room for the layers that can come before the next run, so that
 * the limit holds in between.
 */
#define LAYERTEND_EACH 32

struct layertend_options {
	bool wait; /* wait for another process that maintains layers; else leave the work to it */
	/*
	 * Returns false if layers that show tree are to be dropped.  NULL: no layer is dropped
	 * because of its tree.
	 */
	bool (*useful)(void *arg, const struct hash *tree);
	void *arg;
};

int layertend_run(int rootfd, const struct layertend_options *options, struct err *err);

/*
 * The size in bytes above which a new layer is followed by maintenance at once; see LAYERTEND_EACH.
 */
uint64_t layertend_step(int rootfd);

struct layertend_usage {
	uint64_t taken, limit; /* bytes */
};
/* Find out how much space all layers take, and may take. */
int layertend_usage(int rootfd, struct layertend_usage *usage, struct err *err);
/* Set the limit in bytes for all layers; 0: a share of the disk. */
int layertend_set_limit(int rootfd, uint64_t bytes, struct err *err);
