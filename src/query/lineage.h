/* lineage - follows one path through the snapshots. */
#pragma once
#include "query/provider.h"

/* The state of the path in one snapshot. */
struct lineage_version {
	const struct provider_snapshot *snapshot;
	bool present;
	/*
	 * Whether the path was changed, added or removed since the snapshot before.  lineage_each
	 * reads no content.  So if the views are not identified, it also sets this for a file whose
	 * content is the same but whose fileprint is not.
	 */
	bool changed;
	const struct entry *entry;    /* NULL unless 'present' is set */
	const struct entry *previous; /* entry in the snapshot before; NULL: none */
};

typedef int (*lineage_visit)(void *arg, const struct lineage_version *version, struct err *err);

/*
 * Visit each snapshot in which path differs from the snapshot before, the oldest first.  A snapshot
 * is opened unless the provider knows that path is unchanged in it.  Content is read only if the
 * views are not identified and the attributes are the same.  This is the content of a file with
 * another fileprint, or of everything below a directory.
 */
int lineage_run(struct provider *provider, struct str path, lineage_visit visit, void *arg,
	struct err *err);

typedef bool (*lineage_wanted)(void *arg, const struct provider_snapshot *snapshot);

/*
 * Visit every snapshot for which wanted returns true, the oldest first, even if path has not
 * changed in it.  Such a snapshot is compared with the one that was visited before it.  wanted may
 * be NULL.
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
