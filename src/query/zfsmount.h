/*
 * zfsmount - finds where a ZFS dataset is mounted, and opens the roots of its snapshots.
 *
 * The snapshots of a mounted dataset are below .zfs/snapshot of its mountpoint.  The kernel mounts
 * a snapshot there when its root is opened.  One handle of .zfs/snapshot is kept for the length of
 * a call.  It is not kept longer, because a file system with an open directory cannot be unmounted.
 *
 * A root is accepted only after a proof: its file system is ZFS, and /proc/self/mountinfo has a
 * mount of that device with the name of the snapshot.  A plain directory with such a path is thus
 * refused.
 */
#pragma once
#include "query/family.h"
#include "query/zfslist.h"

/* The mounts of ZFS in this mount namespace.  A struct of zeros has not been read yet. */
struct zfsmount_table {
	struct buf text;
	struct zfsmount_entry {
		const char *device, *root, *point, *source; /* as in struct mountinfo */
	} * list;
	size_t n, cap;
};

void zfsmount_table_release(struct zfsmount_table *table);

struct zfsmount {
	struct family *family;
	struct zfsmount_table *table;
	const char *dataset;
	/* Without the proof, and with the mountpoint that zfs gives: for tests with plain folders.
	 */
	bool trust;
	char *point;   /* with trust: the mountpoint, once it is known */
	int snapshots; /* open on .zfs/snapshot; -1: not open */
};

void zfsmount_release(struct zfsmount *mount);
/* Close the handle. */
void zfsmount_rest(struct zfsmount *mount);
/*
 * Open the root of a snapshot, whose name satisfies snapname_is_snapshot.  Fails with
 * ERR_UNSUPPORTED if the dataset is not mounted, ERR_NOT_FOUND if there is no such snapshot, or no
 * longer, and ERR_DENIED if the directory is no root of a snapshot.
 */
int zfsmount_open(struct zfsmount *mount, const char *snapshot, struct err *err);
/* Returns the stamp of .zfs/snapshot.  It is not known if that would take a call of zfs. */
struct zfslist_stamp zfsmount_stamp(struct zfsmount *mount);
