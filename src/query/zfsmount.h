/*
 * zfsmount - finds the place where a ZFS dataset is mounted, and opens the roots of its snapshots.
 *
 * The snapshots of a mounted dataset are below .zfs/snapshot of its mountpoint.  The kernel mounts
 * a snapshot there when its root is opened.  A descriptor of .zfs/snapshot stays open only during
 * one method call, because a file system with an open directory cannot be unmounted.
 *
 * A root is accepted only after a check: its file system must be ZFS, and /proc/self/mountinfo must
 * list a mount of its device whose source is the full name of the snapshot.  So a plain directory
 * with such a path is refused.
 */
#pragma once
#include "query/dirstamp.h"
#include "query/family.h"

/*
 * The mounts of ZFS in this mount namespace.  A struct of zeros is a table that was not read yet.
 */
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
	/*
	 * For tests with plain directories: the check is left out, and the mountpoint is the one
	 * that zfs reports.
	 */
	bool trust;
	char *point;   /* with trust: the mountpoint, or NULL if it is not known yet */
	int snapshots; /* descriptor of .zfs/snapshot; -1: not open */
};

void zfsmount_release(struct zfsmount *mount);
/* Close the descriptor of .zfs/snapshot. */
void zfsmount_rest(struct zfsmount *mount);
/*
 * Open the root of a snapshot.  The name 'snapshot' must satisfy snapname_is_snapshot.  Fails with
 * ERR_UNSUPPORTED if the dataset is not mounted, with ERR_NOT_FOUND if the snapshot does not exist
 * or was destroyed meanwhile, and with ERR_DENIED if the directory is not the root of the snapshot.
 */
int zfsmount_open(struct zfsmount *mount, const char *snapshot, struct err *err);
/*
 * Returns the stamp of .zfs/snapshot.  Returns an unknown stamp if zfs would have to be called to
 * find this directory.
 */
struct dirstamp zfsmount_stamp(struct zfsmount *mount);
