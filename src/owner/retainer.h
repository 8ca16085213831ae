/* retainer - runs retention and gc in the background after a number of new nodes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* number of new nodes between two runs of retention */
#define RETAINER_NODES 50
#define RETAINER_GC_NS (INT64_C(300) * 1000000000) /* minimum time between two runs of gc */

struct owner;

struct retainer {
	struct owner *owner;
	unsigned nodes; /* number of nodes since the last run of retention */
	bool busy;      /* retention or gc is running */
	bool garbage;   /* retention has dropped nodes since the last run of gc */
	int64_t collected;
};

void retainer_start(struct retainer *retainer, struct owner *owner);
/* Count an automatic node, or the end of a client's operation that may have made a node. */
void retainer_count_node(struct retainer *retainer);
/* Run gc if it is due and no operation writes to the environment. */
void retainer_collect_if_due(struct retainer *retainer);
