/*
 * lineage - what became of one path over the snapshots.
 */
#pragma once
#include "query/provider.h"

/* The path in one snapshot. */
struct lineage_version {
	const struct provider_snapshot *snapshot;
	bool present;
	bool changed;                 /* changed, came or went since the snapshot before */
	const struct entry *entry;    /* when present */
	const struct entry *previous; /* the version before, NULL: there was none */
};

typedef int (*lineage_visit)(void *arg, const struct lineage_version *version, struct err *err);

/*
 * Each snapshot, oldest first, that differs in path from the one before it in
 * the provider's order.  On an identified provider unchanged parents are
 * recognised by their hash, so the cost is that of the distinct versions.
 */
int lineage_run(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

/* Every snapshot, oldest first, changed or not. */
int lineage_each(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

/* Who last touched each line of a file; see lineage_blame. */
struct lineage_line {
	const char *snapshot;
	int64_t creation;
	uint64_t line;
	struct str text;
};

#define LINEAGE_BLAME_MAX ((size_t)16 << 20) /* a larger file is not taken apart into lines */

/* Lines of the newest version; nothing for what is not text. */
int lineage_blame(struct provider *provider, struct str path,
	int (*visit)(void *arg, const struct lineage_line *line, struct err *err), void *arg,
	struct err *err);
