/*
 * folders - the family "dir": folders whose subdirectories are snapshots.
 *
 * Examples are the folders of rsnapshot (hourly.0), of rsync scripts and of Time Machine
 * (2024-01-31-093000).  The time of a snapshot is the one in its name (snapname_time), or else the
 * mtime of its directory.  Symlinks are not snapshots.  Backups that are still being made
 * (.inprogress) or removed (_delete.123) are not snapshots either.  An '@' at the start of a
 * directory's name, as in @GMT-2024.01.31-12.00.00, is not part of the snapshot's name.  A
 * subdirectory whose name does not have the form of a snapshot's name is left out and counted.
 *
 * rsnapshot puts each backup point into a directory of the snapshot, as in hourly.0/localhost.  A
 * caller can open such a directory as a dataset of its own, FOLDER/localhost.  Its snapshots are
 * the snapshots that contain the directory, and its paths begin at that directory.  This dataset is
 * not listed.
 */
#pragma once
#include "query/family.h"

struct folders;

struct folders *folders_new(void); /* makes an empty family; closed like any other family */
/*
 * Add a folder that a user has named as PATH or NAME=PATH.  Without NAME, the name of the dataset
 * is the absolute path without its first slash.  A folder that was added before is ignored.
 */
int folders_add(struct folders *folders, const char *given, struct err *err);
struct family *folders_family(struct folders *folders);
