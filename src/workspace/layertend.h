/*
 * layertend - look after the layers of an environment: keep chains short and the disk small.
 *
 *	measure   how many entries and bytes a new layer has
 *	merge     a chain that some overlay stands on, when it is longer than LAYERTEND_DEPTH;
 *	          the overlay takes the merged layer when it is next mounted
 *	drop      what has no mark, what another layer is preferred to, what is of an earlier boot,
 *	          and, while all together take more than the limit, what was not used for longest.
 *	          Never what an overlay stands on, or is mounted of
 *
 * Only one process does so at a time.  Nobody else waits but for the moment in which layers
 * are taken out of use by a rename; removing them comes after that.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "workspace/layerlinks.h"

/* See bench row 18 for what lookups and compiles cost at this depth. */
#define LAYERTEND_DEPTH 8
/*
 * Numbers of new layers between two looks at all layers.  A layer larger than layertend_step
 * calls for a look at once.  Each look leaves room for what can come before the next one, so
 * that the limit holds in between.
 */
#define LAYERTEND_EACH 32

struct layertend_options {
	bool wait; /* for another process that is at it; else leave the work to that one */
	/* Layers whose tree this refuses are of no use; NULL: all are. */
	bool (*useful)(void *arg, const struct hash *tree);
	void *arg;
};

int layertend_run(int rootfd, const struct layertend_options *options, struct err *err);

/* In bytes; see LAYERTEND_EACH. */
uint64_t layertend_step(int rootfd);

/* In bytes. */
struct layertend_usage {
	uint64_t taken, limit;
};
/* What all layers take and may take, without changing anything. */
int layertend_usage(int rootfd, struct layertend_usage *usage, struct err *err);
/* The limit from now on; 0: a share of the disk. */
int layertend_set_limit(int rootfd, uint64_t bytes, struct err *err);
