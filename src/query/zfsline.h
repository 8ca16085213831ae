/*
 * zfsline - reads the lines that zfs and zpool print for programs (zfs list -H -p and others).
 *
 * A function returns false if the line has another form.  Texts in a result point into the line.
 * Fields are separated by tabs.  A mountpoint or the value of a property may contain a tab or a
 * newline itself.  Then the line is recognised by the fields around it.
 */
#pragma once
#include "core/buf.h"
#include "query/pool.h"
#include "tree/entry.h"

/* A number of bytes or seconds.  "-" gives -1: there is no such number. */
bool zfsline_number(struct str text, int64_t *number);

struct zfsline_dataset {
	struct str name, type, mountpoint;
	int64_t used, available;
};
/* zfs list -o name,type,mountpoint,used,available */
bool zfsline_dataset(struct str line, struct zfsline_dataset *out);

struct zfsline_snapshot {
	struct str dataset, name;
	int64_t creation; /* seconds */
	int64_t used, referenced;
};
/* zfs list -t snapshot -o name,creation,used,referenced */
bool zfsline_snapshot(struct str line, struct zfsline_snapshot *out);
/* Whether this is one of the snapshots that zfs diff makes and removes again. */
bool zfsline_is_temporary(struct str snapshot);

struct zfsline_property {
	struct str name, value, source;
};
/* zfs get -o name,property,value,source of this dataset */
bool zfsline_property(struct str line, struct str dataset, struct zfsline_property *out);

/* zpool list -o name,size,allocated,free,health */
bool zfsline_pool(struct str line, struct pool *out);

struct zfsline_change {
	char op; /* '+' '-' 'M' 'R' */
	enum entry_type type;
	struct str path, new_path; /* in the buffers; new_path is for 'R' */
};
/* zfs diff -H -F.  The paths are decoded into the two buffers, which are cleared before. */
bool zfsline_change(
	struct str line, struct buf *path, struct buf *new_path, struct zfsline_change *out);
