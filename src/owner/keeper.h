/*
 * keeper - retention and gc in the background, now and then after automatic nodes.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define KEEPER_NODES 50                          /* new automatic nodes before the next round */
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
/* An automatic node was made. */
void keeper_count(struct keeper *keeper);
