/* usage - the disk space of each part of an environment. */
#pragma once
#include "core/json.h"
#include "ops/env.h"

struct usage {
	uint64_t base;   /* the trees below overlays; 0 for one used in place */
	uint64_t layers; /* differences between trees, a cache */
	uint64_t layers_limit;
	uint64_t uppers; /* live trees; of overlays, the changes since the last layer */
	bool uppers_unknown;
	uint64_t store; /* packs, database, workspace indexes, packs that repair put aside */
	uint64_t traces;
	uint64_t logs;
	uint64_t unread; /* number of directories that could not be read */
};

/* Bytes of the database with its log, which are part of store. */
uint64_t usage_database(struct env *env);
/*
 * Measure all parts.  The sizes of the base and of most layers are stored; live trees, traces and
 * logs are walked.  If quick is set, live trees that are whole trees are left out, and
 * uppers_unknown is set.
 */
int usage_look(struct env *env, bool quick, struct usage *usage, struct err *err);
uint64_t usage_sum(const struct usage *usage);
uint64_t usage_fewer(uint64_t before, uint64_t after); /* before - after, but at least 0 */
/* Returns for each part what usage_fewer returns. */
struct usage usage_less(const struct usage *before, const struct usage *after);
/* Add an object called name, with the parts as its members. */
#define USAGE_SHAPE "{base:int layers:int uppers:int? store:int traces:int logs:int} "
void usage_json(struct json *out, const char *name, const struct usage *usage);
