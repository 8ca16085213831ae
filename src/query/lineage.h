/* lineage - follows one path through the snapshots. */
#pragma once
#include "query/provider.h"

/* What the path is in one snapshot. */
struct lineage_version {
	const struct provider_snapshot *snapshot;
	bool present;
	/*
	 * changed, added or removed since the snapshot before.  lineage_each reads no content, so
	 * this may only be possible if the view is not identified.
	 */
	bool changed;
	const struct entry *entry;    /* NULL unless present */
	const struct entry *previous; /* the entry before; NULL: there was none */
};

typedef int (*lineage_visit)(void *arg, const struct lineage_version *version, struct err *err);

/*
 * Visit each snapshot in which path differs from the snapshot before, the oldest first.  Every
 * snapshot is opened.  Content is read only if the views are not identified, and if size, mtime and
 * mode are the same while the inode is not.
 */
int lineage_run(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

/* Visit every snapshot, the oldest first, whether path changed in it or not. */
int lineage_each(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

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
