/*
 * zfsline - reads the lines that zfs and zpool print for programs (zfs list -H -p and others).
 *
 * A function returns false if the line has another form.  Texts in a result point into the line.
 * Tabs separate the fields.  But a mountpoint or the value of a property may itself contain a tab
 * or a newline.  Its end is then found by the fields after it.
 */
#pragma once
#include "core/buf.h"
#include "query/pool.h"
#include "tree/entry.h"

/*
 * Read a number of bytes or seconds.  *number becomes -1 if the text is "-", which stands for no
 * value.
 */
bool zfsline_number(struct str text, int64_t *number);

struct zfsline_dataset {
	struct str name, type, mountpoint;
	int64_t used, available;
};
/* read a line of "zfs list -o name,type,mountpoint,used,available" */
bool zfsline_dataset(struct str line, struct zfsline_dataset *out);

struct zfsline_snapshot {
	struct str dataset, name;
	int64_t creation; /* seconds */
	int64_t used, referenced;
};
/* read a line of "zfs list -t snapshot -o name,creation,used,referenced" */
bool zfsline_snapshot(struct str line, struct zfsline_snapshot *out);
/* Whether zfs diff has made the snapshot.  zfs diff removes such a snapshot at its end. */
bool zfsline_is_temporary(struct str snapshot);

struct zfsline_property {
	struct str name, value, source;
};
/* read a line of "zfs get -o name,property,value,source" for this dataset */
bool zfsline_property(struct str line, struct str dataset, struct zfsline_property *out);

/* read a line of "zpool list -o name,size,allocated,free,health" */
bool zfsline_pool(struct str line, struct pool *out);

struct zfsline_change {
	char op; /* '+' made, '-' removed, 'M' changed, 'R' renamed */
	enum entry_type type;
	struct str path, new_path; /* in the buffers; new_path is only set for 'R' */
};
/*
 * Read a line of "zfs diff -H -F".  The two buffers are cleared, and the paths are decoded into
 * them.
 */
bool zfsline_change(
	struct str line, struct buf *path, struct buf *new_path, struct zfsline_change *out);
