/*
 * zfsfamily - the family "zfs": the datasets of ZFS, as the programs zfs and zpool know them.
 *
 * zfs is asked for lists and properties.  Files are read below .zfs/snapshot.  Whether a dataset
 * exists is known only when zfs is asked about it, so the family takes every name for the name of a
 * dataset.  It must be the last family of a registry.
 */
#pragma once
#include "query/family.h"

/*
 * trust_mountpoints: take a plain directory for the root of a snapshot, and do not require that the
 * kernel has ZFS.  This is for tests, in which a script stands for zfs.
 */
struct family *zfsfamily_new(bool trust_mountpoints);
/*
 * Count the family as usable in any case: a person has asked for it.  Then each call says by itself
 * why zfs fails.
 */
void zfsfamily_require(struct family *family);
