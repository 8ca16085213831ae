/*
 * usage - what each part of an environment takes on disk.
 */
#pragma once
#include "core/json.h"
#include "ops/env.h"

struct usage {
	uint64_t base;   /* the materialised trees below overlays; 0 for one used in place */
	uint64_t layers; /* differences between trees, a cache */
	uint64_t layers_limit;
	uint64_t uppers; /* live trees: what programs changed since the last layer */
	bool uppers_unknown;
	uint64_t store; /* packs, database, workspace indexes, what repair put aside */
	uint64_t traces;
	uint64_t logs;
	uint64_t unread; /* directories that could not be looked into */
};

/* Of what the store takes: its database with the log. */
uint64_t usage_database(struct env *env);
/*
 * Look at all parts.  The store is a few files and the sizes of the base and of most layers are
 * known; live trees, traces and logs are walked.  quick: not a live tree that is a whole tree.
 */
int usage_look(struct env *env, bool quick, struct usage *usage, struct err *err);
uint64_t usage_sum(const struct usage *usage);
uint64_t usage_fewer(uint64_t before, uint64_t after); /* 0 where there are more */
/* What less there is after than before, of each. */
struct usage usage_less(const struct usage *before, const struct usage *after);
/* The parts, as members of an object of this name. */
#define USAGE_SHAPE "{base:int layers:int uppers:int? store:int traces:int logs:int} "
void usage_json(struct json *out, const char *name, const struct usage *usage);
