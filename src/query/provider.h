/*
 * provider - a source of snapshots: strata's own history, and later ZFS,
 * btrfs and plain folders.
 *
 * A provider lists the snapshots of a dataset and opens one as a view: a read-only
 * tree of entries.  walk, search, lineage and the methods use only this interface.
 *
 * Paths are raw bytes relative to the snapshot's root, '/'-separated, without
 * "..".  A view never follows a symlink and never leaves its root.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "tree/content.h"
#include "tree/entry.h"
#include "tree/treediff.h"

struct provider;
struct view;

struct provider_snapshot {
	const char *name;        /* as users of the provider know it: a node id for strata */
	int64_t creation;        /* ns */
	const struct node *node; /* strata: the node; NULL elsewhere */
};

struct provider_dataset {
	const char *name;
	const char *type;       /* environment, filesystem, volume, subvolume, folder */
	const char *mountpoint; /* NULL: none */
	int64_t used;           /* bytes; -1 not known */
	int64_t avail;
};

typedef int (*provider_dataset_visit)(
	void *arg, const struct provider_dataset *dataset, struct err *err);
typedef int (*provider_snapshot_visit)(
	void *arg, const struct provider_snapshot *snapshot, struct err *err);
typedef int (*provider_change_visit)(
	void *arg, const struct treediff_change *change, struct err *err);
typedef int (*view_visit)(void *arg, const struct entry *entry, struct err *err);

struct view_ops {
	/* The entry at path: 1, or 0 not there.  Its strings and identity are in arena. */
	int (*stat)(struct view *view, struct str path, struct arena *arena, struct entry *entry,
		struct err *err);
	/* The entries of a directory, by name.  visit: negative stops, 1 stops without an error. */
	int (*list)(struct view *view, const struct entry *dir, struct str path, view_visit visit,
		void *arg, struct err *err);
	/* Content of a regular file. */
	int (*read)(struct view *view, const struct entry *file, struct str path, uint64_t offset,
		uint64_t length, content_sink sink, void *arg, struct err *err);
	void (*close)(struct view *view);
};

/*
 * identified: entry.hash identifies contents and subtrees.  Equal hashes mean equal content in all
 * views, so methods may skip content they have seen.  For ENTRY_BLOB it is the SHA-256 of the
 * content.
 * sums: size and count of a directory include everything below it.
 */
struct view {
	const struct view_ops *ops;
	bool identified;
	bool sums;
};

struct provider_ops {
	const char *name;
	/* In all functions below visit returns 1 to stop without an error. */

	/* All datasets. */
	int (*datasets)(struct provider *provider, provider_dataset_visit visit, void *arg,
		struct err *err);
	/* Snapshots of the dataset, oldest first. */
	int (*snapshots)(struct provider *provider, provider_snapshot_visit visit, void *arg,
		struct err *err);
	/* The snapshot that a name typed by a user means, in arena; or ERR_NOT_FOUND. */
	int (*resolve)(struct provider *provider, const char *name, struct arena *arena,
		struct provider_snapshot *snapshot, struct err *err);
	/* NULL on error. */
	struct view *(*open)(struct provider *provider, const char *snapshot, struct err *err);
	/*
	 * The differences between two snapshots, as treediff gives them.  NULL: the provider
	 * cannot compare, and methods that need this fail.
	 */
	int (*diff)(struct provider *provider, const char *a, const char *b,
		const struct treediff_options *options, provider_change_visit visit, void *arg,
		struct err *err);
	/*
	 * The same dataset without other branches: only the ancestors of the current snapshot.
	 * In arena; NULL on error.  The function itself is NULL for providers without branches.
	 */
	struct provider *(*mainline)(
		struct provider *provider, struct arena *arena, struct err *err);
};

struct provider {
	const struct provider_ops *ops;
};

static inline void view_closep(struct view **view)
{
	if (*view)
		(*view)->ops->close(*view);
}
