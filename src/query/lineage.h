/*
 * lineage - follow one path through the snapshots.
 */
#pragma once
#include "query/provider.h"

/* The path in one snapshot. */
struct lineage_version {
	const struct provider_snapshot *snapshot;
	bool present;
	bool changed;                 /* it was changed, added or removed since the one before */
	const struct entry *entry;    /* when present */
	const struct entry *previous; /* the version before, NULL: there was none */
};

typedef int (*lineage_visit)(void *arg, const struct lineage_version *version, struct err *err);

/*
 * Visit each snapshot, oldest first, in which path differs from the snapshot before.  On an
 * identified provider equal parent directories are recognised by their hash, so the cost follows
 * the number of distinct versions.
 */
int lineage_run(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

/* Every snapshot, oldest first, changed or not. */
int lineage_each(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

struct lineage_line {
	const char *snapshot; /* the one that added or changed the line */
	int64_t creation;
	uint64_t line;
	struct str text;
};

#define LINEAGE_BLAME_MAX ((size_t)16 << 20) /* a larger file is not split into lines */

/* Visit the lines of the newest version; none if it is not text. */
int lineage_blame(struct provider *provider, struct str path,
	int (*visit)(void *arg, const struct lineage_line *line, struct err *err), void *arg,
	struct err *err);
