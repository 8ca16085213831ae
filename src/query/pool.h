/* pool - describes storage pools, on which a family such as ZFS keeps its datasets. */
#pragma once
#include <stdint.h>

#include "core/str.h"

struct pool {
	struct str name;
	int64_t size, allocated, free; /* bytes; -1: not known */
	struct str health;
};

/* A device of a pool, or a group of devices. */
struct pool_device {
	struct str name;
	struct str state;              /* empty: no state, for example for the heading "spares" */
	int64_t read, write, checksum; /* numbers of errors; -1: not known */
	unsigned depth;                /* depth in the tree of devices; 0: the pool itself */
	struct str note;               /* the text after the numbers; may be empty */
};

/* The parts of a pool's status, in the order of the protocol. */
enum pool_fact {
	POOL_STATE,
	POOL_STATUS,
	POOL_ACTION,
	POOL_SEE,
	POOL_SCAN,
	POOL_ERRORS,
	POOL_FACTS,
};

/* Returns the name of a fact.  The output of zpool status and the protocol use the same name. */
static inline const char *pool_fact_name(enum pool_fact fact)
{
	static const char *const names[POOL_FACTS] = {
		[POOL_STATE] = "state",
		[POOL_STATUS] = "status",
		[POOL_ACTION] = "action",
		[POOL_SEE] = "see",
		[POOL_SCAN] = "scan",
		[POOL_ERRORS] = "errors",
	};

	return names[fact];
}

struct pool_status {
	struct str name;
	struct str facts[POOL_FACTS]; /* ptr is NULL for a fact that the status does not have */
	const struct pool_device *devices;
	size_t n_devices;
};

struct err;
typedef int (*pool_visit)(void *arg, const struct pool *pool, struct err *err);
typedef int (*pool_status_visit)(void *arg, const struct pool_status *status, struct err *err);
