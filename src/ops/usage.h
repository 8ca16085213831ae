/* usage - the disk space of each part of an environment. */
#pragma once
#include "core/json.h"
#include "ops/env.h"

struct usage {
	uint64_t base;   /* bytes of the trees below overlays; 0 for a tree that is used in place */
	uint64_t layers; /* bytes of the layers below overlays; the layers are a cache */
	uint64_t layers_limit;
	uint64_t uppers; /* bytes of live trees; for overlays, the changes since the last layer */
	bool uppers_unknown;
	/* bytes of packs, database, workspace indexes, and packs that a repair has put aside */
	uint64_t store;
	uint64_t traces;
	uint64_t logs;
	uint64_t unread; /* number of directories that could not be read */
};

/*
 * Returns the bytes of the database with its log.  The member 'store' of a struct usage includes
 * them.
 */
uint64_t usage_database(struct env *env);
/*
 * Measure all parts.  The sizes of the base and of most layers were stored earlier, and are only
 * read.  Live trees, traces and logs are walked.  If 'quick' is set, live trees other than overlays
 * are not measured, and uppers_unknown is set.
 */
int usage_look(struct env *env, bool quick, struct usage *usage, struct err *err);
uint64_t usage_sum(const struct usage *usage);
/* Returns before - after, or 0 if the difference is negative. */
uint64_t usage_fewer(uint64_t before, uint64_t after);
/* Returns usage_fewer for each part. */
struct usage usage_less(const struct usage *before, const struct usage *after);
/* Add an object called 'name', with the parts as its members. */
#define USAGE_SHAPE "{base:int layers:int uppers:int? store:int traces:int logs:int} "
void usage_json(struct json *out, const char *name, const struct usage *usage);
