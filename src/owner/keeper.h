/*
 * keeper - retention and gc in the background, now and then after new nodes.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define KEEPER_NODES 50                          /* new ones before the next round */
#define KEEPER_GC_NS (INT64_C(300) * 1000000000) /* between collections */

struct owner;

struct keeper {
	struct owner *owner;
	unsigned nodes; /* made since the last round */
	bool busy;
	bool garbage; /* nodes were dropped since the last collection */
	int64_t collected;
};

void keeper_start(struct keeper *keeper, struct owner *owner);
/* An automatic node was made, or a client asked for something that may have made one. */
void keeper_count(struct keeper *keeper);
/* Collect, if that had to wait until nobody writes, and nobody does. */
void keeper_look(struct keeper *keeper);
