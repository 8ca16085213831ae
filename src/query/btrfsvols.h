/*
 * btrfsvols - the btrfs subvolumes that this process can reach.
 *
 * The subvolumes are those that btrfs file systems are mounted from, and those that the kernel
 * names in them.  All is asked by ioctls that need no privilege (Linux 4.18), so root and ordinary
 * users get the same answers, except for subvolumes that lie behind a directory which the user may
 * not search.  A directory that only looks like a subvolume is never among them.
 *
 * A subvolume that several mounts show has several paths.  The path of a mount from it comes first.
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
	uint8_t parent[BTRFSVOLS_UUID];   /* uuid of the subvolume this is a snapshot of, or 0 */
	uint8_t received[BTRFSVOLS_UUID]; /* uuid of the subvolume 'btrfs receive' copied, or 0 */
	bool read_only;
	int64_t creation; /* ns */
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
	/* The subvolumes in another one that this user may not open. */
	struct btrfsvol_hidden {
		size_t in; /* index in list */
		const char *name;
	} * hidden;
	size_t n_hidden, cap_hidden;
	struct btrfsvol_fs {
		uint8_t id[BTRFSVOLS_UUID];
		uint64_t generation; /* of the last transaction before the scan */
		const char *mount;
	} * fs;
	size_t n_fs, cap_fs;
	size_t mounts;       /* how many mounts of btrfs there are */
	uint64_t mount_hash; /* of the table of mounts */
	int64_t time;        /* of the scan; when_monotonic */
	struct arena arena;  /* all texts */
};

/* Find all subvolumes.  Fails if there are mounts of btrfs, but no subvolume can be asked. */
int btrfsvols_scan(struct btrfsvols *vols, struct err *err);
void btrfsvols_release(struct btrfsvols *vols);
/*
 * Whether a new scan would find the same.  A transaction, a mount or a second makes a scan old: a
 * subvolume can be renamed without a transaction.
 */
bool btrfsvols_fresh(const struct btrfsvols *vols);
/* Returns the index of the subvolume at an absolute path, or BTRFSVOLS_NONE. */
size_t btrfsvols_at(const struct btrfsvols *vols, const char *path);
/*
 * Open the directory of a subvolume.  ERR_NOT_FOUND means that another subvolume, or none, is there
 * now.
 */
int btrfsvols_open(const struct btrfsvols *vols, const struct btrfsvol *vol, struct err *err);

/* Whether a uuid is set. */
bool btrfsvols_has(const uint8_t uuid[BTRFSVOLS_UUID]);
