/*
 * provider - the snapshots of one dataset.
 *
 * A family (family.h) opens a dataset as a provider.  The provider lists the snapshots and opens a
 * snapshot as a view: a read-only tree of entries.  walk.c, search.c, lineage.c and the methods use
 * only this interface.
 *
 * Paths are raw bytes relative to the snapshot's root, '/'-separated, without "..".  A view never
 * follows a symlink and never leaves its root.
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
	const char *name; /* the name that users of the provider know; for strata, a node id */
	int64_t creation; /* ns */
	int64_t used;     /* bytes that only this snapshot uses; -1: not known */
	/* bytes of all its files; -1: not known here, but the view may have the sum */
	int64_t refer;
	const struct node *node; /* the node, if the provider is strata; else NULL */
	/* How the snapshot was made, if the program that made it has recorded this; else NULL. */
	const char *kind;    /* such as "pre" */
	const char *message; /* UTF-8 */
	const char *cleanup; /* the rule that will remove the snapshot */
};

struct provider_dataset {
	const char *name;
	const char *type;       /* environment, filesystem, volume, subvolume, folder */
	const char *mountpoint; /* NULL: none */
	int64_t used;           /* in bytes, as avail is; -1: not known */
	int64_t avail;
};

struct provider_property {
	struct str name, value, source;
};

typedef int (*provider_dataset_visit)(
	void *arg, const struct provider_dataset *dataset, struct err *err);
typedef int (*provider_snapshot_visit)(
	void *arg, const struct provider_snapshot *snapshot, struct err *err);
typedef int (*provider_change_visit)(
	void *arg, const struct treediff_change *change, struct err *err);
typedef int (*provider_property_visit)(
	void *arg, const struct provider_property *property, struct err *err);
typedef int (*view_visit)(void *arg, const struct entry *entry, struct err *err);

struct view_ops {
	/*
	 * Get the entry at path.  Returns 1, or 0 if there is none.  The texts of the entry are in
	 * arena.
	 */
	int (*stat)(struct view *view, struct str path, struct arena *arena, struct entry *entry,
		struct err *err);
	/*
	 * Visit the entries of a directory, sorted by name.  'visit' returns a negative value to
	 * stop with that error, or 1 to stop without an error.  For a directory that has been
	 * removed or may not be read, the result is ERR_DENIED.
	 */
	int (*list)(struct view *view, const struct entry *dir, struct str path, view_visit visit,
		void *arg, struct err *err);
	/*
	 * Pass up to 'length' bytes of a regular file, beginning at 'offset', to 'sink'.  For a
	 * file that has been removed or may not be read, the result is ERR_DENIED.
	 */
	int (*read)(struct view *view, const struct entry *file, struct str path, uint64_t offset,
		uint64_t length, content_sink sink, void *arg, struct err *err);
	/*
	 * Append the extended attributes of an entry of any type to out, as tree/xattrs.h encodes
	 * them.  Nothing is appended if there are none.
	 */
	int (*xattrs)(struct view *view, const struct entry *entry, struct str path,
		struct buf *out, struct err *err);
	/*
	 * Open another view of the same snapshot, for use by another thread.  Returns NULL on
	 * error.  The function pointer itself is NULL if a process can use only one such view at a
	 * time.
	 */
	struct view *(*again)(struct view *view, struct err *err);
	void (*close)(struct view *view);
};

/*
 * Which attributes of the entries the caller of a view needs.  Fewer attributes are faster.  A view
 * may always give all attributes.
 */
enum view_need {
	VIEW_ALL,
	VIEW_NO_HASH, /* the hash need not be set */
	/*
	 * 'list' may pass a regular file as a brief entry, which has only a name, a type and, as
	 * its hash, the identity of the file.  If two brief entries have equal hashes, the two
	 * files have the same attributes and the same content.  Otherwise nothing is known.
	 */
	VIEW_BRIEF,
	/*
	 * As VIEW_BRIEF, but brief entries need no hash, and all other entries need only a name and
	 * a type.
	 */
	VIEW_NAMES,
};

/*
 * A snapshot that is open for reading.  The hash of a file is entry.hash.  Equal hashes mean equal
 * content in all views of a dataset, so methods may skip content that they have read before.
 *
 * identified: different hashes also mean different content, even for directories.  The hash of an
 * ENTRY_BLOB is the SHA-256 of its content.  If a view is not identified, files with different
 * hashes have to be compared, and the hashes of directories have no meaning.
 *
 * sums: size and count of a directory include everything below it.
 *
 * need: set by a caller that does not need all attributes of the entries.
 *
 * begun: set with VIEW_BRIEF to the time when the caller began to list the views that it compares.
 * A file in a directory that has changed since then is not passed as a brief entry.
 *
 * holes: set by a caller that needs the holes of files.  The function 'read' then passes a null
 * pointer instead of the bytes of a hole.  If 'holes' is not set, 'read' may pass zeros.
 */
struct view {
	const struct view_ops *ops;
	bool identified;
	bool sums;
	enum view_need need;
	int64_t begun;
	bool holes;
	const int *root; /* descriptor of the directory that the view shows; NULL: no directory */
	uint64_t unread; /* number of files and directories that walk and search had to skip */
};

struct provider_ops {
	const char *name; /* name of the family */
	/* In all functions below, 'visit' may return 1 to stop without an error. */

	/* Visit the snapshots of the dataset, the oldest first, and set left_out. */
	int (*snapshots)(struct provider *provider, provider_snapshot_visit visit, void *arg,
		struct err *err);
	/*
	 * Find the snapshot that a user means by a name.  The texts of the result are in arena.
	 * Fails with ERR_NOT_FOUND if there is none.
	 */
	int (*resolve)(struct provider *provider, const char *name, struct arena *arena,
		struct provider_snapshot *snapshot, struct err *err);
	/*
	 * Get the same entry as view_ops.stat gets for 'path' in a view of a listed snapshot.
	 * *known becomes false if the snapshot has to be opened to get the entry.  NULL: the
	 * snapshot always has to be opened.  If a provider has this function, its views must not be
	 * identified.
	 */
	int (*look)(struct provider *provider, const char *snapshot, struct str path,
		struct arena *arena, struct entry *entry, bool *known, struct err *err);
	/* Open a snapshot as a view; NULL on error. */
	struct view *(*open)(struct provider *provider, const char *snapshot, struct err *err);
	/*
	 * Visit the differences between two snapshots, as treediff.h describes them.  NULL: the
	 * provider has no faster way than viewdiff_snapshots, which compares two views.
	 */
	int (*diff)(struct provider *provider, const char *a, const char *b,
		const struct treediff_options *options, provider_change_visit visit, void *arg,
		struct err *err);
	/*
	 * Whether path, with everything below it, is known to be unchanged since the previous
	 * snapshot.  No snapshot is opened to find this out.  NULL: this is never known.
	 */
	bool (*unchanged)(
		const char *before, const struct provider_snapshot *snapshot, struct str path);
	/*
	 * Visit the differences that the file system itself lists.  The paths are those of the live
	 * files, and may begin with the mountpoint.  Entries have only a type, and the 'what' of a
	 * change is 0.  NULL: the file system has no such list.
	 */
	int (*own_diff)(struct provider *provider, const char *a, const char *b,
		provider_change_visit visit, void *arg, struct err *err);
	/*
	 * Get the number of bytes written between two snapshots.  NULL: the caller adds up the
	 * sizes that 'diff' reports.
	 */
	int (*written)(struct provider *provider, const char *a, const char *b, int64_t *bytes,
		struct err *err);
	/*
	 * Visit the properties of the dataset that have one of these n names.  If n is 0, visit all
	 * of them.  NULL: the dataset has no properties.
	 */
	int (*properties)(struct provider *provider, const char *const *names, size_t n,
		provider_property_visit visit, void *arg, struct err *err);
	/*
	 * Returns a provider of the same dataset that has only the current snapshot and its
	 * ancestors, without other branches.  The new provider lies in arena.  Returns NULL on
	 * error.  The function pointer itself is NULL for providers without branches.
	 */
	struct provider *(*mainline)(
		struct provider *provider, struct arena *arena, struct err *err);
	/* Free the provider.  NULL: the family of the provider owns and frees it. */
	void (*close)(struct provider *provider);
};

struct provider {
	const struct provider_ops *ops;
	const char *dataset; /* name of the dataset */
	/*
	 * Number of snapshots that the last listing left out, because their names do not have the
	 * form of snapname.h, or because this user may not open them (btrfs).
	 */
	uint64_t left_out;
	uint64_t unread; /* files and directories that the last comparison could not read */
};

static inline void view_closep(struct view **view)
{
	if (*view)
		(*view)->ops->close(*view);
}
