/* lineage - follows one path through the snapshots. */
#pragma once
#include "query/provider.h"

/* The state of the path in one snapshot. */
struct lineage_version {
	const struct provider_snapshot *snapshot;
	bool present;
	/*
	 * Whether the path was changed, added or removed since the previous snapshot.  The function
	 * lineage_each reads no content.  So if the views are not identified (provider.h),
	 * 'changed' is also set for a file with the same content but another fileprint.
	 */
	bool changed;
	const struct entry *entry;    /* NULL unless 'present' is set */
	const struct entry *previous; /* entry in the previous snapshot; NULL: none */
};

typedef int (*lineage_visit)(void *arg, const struct lineage_version *version, struct err *err);

/*
 * Visit each snapshot in which path is not the same as in the previous snapshot.  The oldest
 * snapshot comes first.  A snapshot is not opened if the provider knows that path is unchanged in
 * it.  If the views are not identified, and a file has the same attributes but another fileprint,
 * its content is read and compared.  No other content is read.  For a directory, all files below it
 * are compared in this way.
 */
int lineage_run(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

typedef bool (*lineage_wanted)(void *arg, const struct provider_snapshot *snapshot);

/*
 * Visit every snapshot for which the function 'wanted' returns true, even if path has not changed
 * in it.  The oldest snapshot comes first.  Each snapshot is compared with the snapshot that was
 * visited before it.  If 'wanted' is NULL, all snapshots are visited.
 */
int lineage_each(struct provider *provider, struct str path, lineage_wanted wanted,
	lineage_visit visit, void *arg, struct err *err);

struct lineage_line {
	const char *snapshot; /* the snapshot that added or changed the line */
	int64_t creation;
	uint64_t line;
	struct str text;
};

#define LINEAGE_BLAME_MAX ((size_t)16 << 20) /* a larger file is not split into lines */

/*
 * Visit the lines of the newest version of a file.  If that version is not text, or is larger than
 * LINEAGE_BLAME_MAX, nothing is visited.
 */
int lineage_blame(struct provider *provider, struct str path,
	int (*visit)(void *arg, const struct lineage_line *line, struct err *err), void *arg,
	struct err *err);
