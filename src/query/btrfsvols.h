/*
 * btrfsvols - finds the btrfs subvolumes that this process can reach.
 *
 * These are the mounted subvolumes, and the subvolumes that the kernel finds in them.  All data
 * come from ioctls that need no privilege (Linux 4.18).  So root and ordinary users get the same
 * results, except for subvolumes behind a directory that the user may not search.  A directory that
 * only looks like a subvolume is never in the list.
 *
 * A subvolume that several mounts show has several paths.  If the subvolume itself is mounted, the
 * path of this mount comes first.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"

#define BTRFSVOLS_UUID 16
#define BTRFSVOLS_NONE SIZE_MAX

struct btrfsvol {
	size_t fs; /* index in btrfsvols.fs */
	uint64_t id;
	uint8_t uuid[BTRFSVOLS_UUID];
	uint8_t parent[BTRFSVOLS_UUID]; /* uuid of the subvolume that this is a snapshot of, or 0 */
	/* uuid of the subvolume that 'btrfs receive' has copied, or 0 */
	uint8_t received[BTRFSVOLS_UUID];
	bool read_only;
	int64_t creation; /* ns */
	int64_t used;     /* bytes that no other subvolume has; -1: not known, as in refer */
	int64_t refer;    /* bytes of all its data */
	const char *path; /* absolute */
};

struct btrfsvols {
	struct btrfsvol *list;
	size_t n, cap;
	/* Every path under which a subvolume was found, sorted by path. */
	struct btrfsvol_path {
		const char *path;
		size_t vol;
	} * paths;
	size_t n_paths, cap_paths;
	/* Nested subvolumes that this user may not open. */
	struct btrfsvol_hidden {
		size_t in; /* index, in list, of the subvolume that contains it */
		const char *name;
	} * hidden;
	size_t n_hidden, cap_hidden;
	struct btrfsvol_fs {
		uint8_t id[BTRFSVOLS_UUID];
		uint64_t generation; /* number of the last transaction before the scan */
		const char *mount;
	} * fs;
	size_t n_fs, cap_fs;
	size_t mounts;       /* number of mounts of btrfs */
	uint64_t mount_hash; /* hash of the table of mounts */
	int64_t time;        /* time of the scan, by the clock of when_monotonic */
	struct arena arena;  /* memory of all texts */
};

/* Find all subvolumes.  Fails if there are mounts of btrfs, but the ioctls fail for all of them. */
int btrfsvols_scan(struct btrfsvols *vols, struct err *err);
void btrfsvols_release(struct btrfsvols *vols);
/*
 * Whether a new scan would give the same result.  A scan becomes old after a transaction, after a
 * new mount, or after one second.  The time limit is needed because a subvolume can be renamed
 * without a transaction.
 */
bool btrfsvols_fresh(const struct btrfsvols *vols);
/* Returns the index of the subvolume at an absolute path, or BTRFSVOLS_NONE. */
size_t btrfsvols_at(const struct btrfsvols *vols, const char *path);
/*
 * Open the directory of a subvolume.  Fails with ERR_NOT_FOUND if the path vol->path no longer
 * leads to this subvolume.
 */
int btrfsvols_open(const struct btrfsvols *vols, const struct btrfsvol *vol, struct err *err);

/* Whether a uuid is set. */
bool btrfsvols_has(const uint8_t uuid[BTRFSVOLS_UUID]);
