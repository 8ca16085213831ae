/*
 * dirview - a view of a directory of the file system.
 *
 * Every path is resolved by the kernel beneath the directory, and no component may be a symlink.
 * Only directories and regular files are opened, never a FIFO or a device.  Hard links are not
 * reported.  The entries say nothing about extended attributes; view_ops.xattrs reads them.  The
 * view is not identified and has no sums (provider.h).  The hash of a file is its fileprint.
 *
 * An entry whose attributes cannot be read has the type 0 and only a name.
 */
#pragma once
#include "query/provider.h"

struct dirview_options {
	/*
	 * A file has the same inode number in all views of the dataset, but a different device in
	 * each view (fileprint.h).  A directory on another device than the root, such as a nested
	 * subvolume, is no part of the snapshot, and is shown as an empty directory.
	 */
	bool shared_inodes;
};

/* Returns a view of the directory whose descriptor is 'root', and takes over 'root'. */
struct view *dirview_new(int root, const struct dirview_options *options);
/*
 * Get the entry 'name' of the open directory dir.  The result is the same as that of view_ops.stat
 * in a view with these options.
 */
int dirview_entry(const struct dirview_options *options, int dir, const char *name,
	struct arena *arena, struct entry *entry, struct err *err);
