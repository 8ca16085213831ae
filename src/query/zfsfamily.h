/*
 * zfsfamily - the family "zfs": the datasets that the programs zfs and zpool report.
 *
 * zfs is called for lists and properties.  Files are read below .zfs/snapshot.  Only a call of zfs
 * shows whether a dataset exists, so the family accepts every name as the name of a dataset.  For
 * this reason it must be the last family of a registry.
 */
#pragma once
#include "query/family.h"

/*
 * Make the family.  trust_mountpoints is for tests, in which a script stands for zfs.  A plain
 * directory is then accepted as the root of a snapshot, and the kernel need not support ZFS.
 */
struct family *zfsfamily_new(bool trust_mountpoints);
/*
 * Treat the family as usable in any case.  Call this function if a person has asked for the family.
 * If zfs fails, each call then reports the reason.
 */
void zfsfamily_require(struct family *family);
