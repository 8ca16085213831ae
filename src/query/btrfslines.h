/*
 * btrfslines - finds out which btrfs subvolumes are snapshots, and which snapshots belong together.
 *
 * A line is a dataset: a live subvolume with its snapshots, or snapshots whose subvolume does not
 * exist here, as on a backup disk.  A snapshot belongs to at most one line:
 *
 * - In the layouts of snapper (DIR/.snapshots/N/snapshot) and of timeshift
 *   (DIR/timeshift-btrfs/snapshots/DATE/NAME), the path names the subvolume of the snapshot: DIR or
 *   DIR/NAME.  The path counts only if the kernel shows that the snapshot and this subvolume have
 *   common ancestors.  A snapshot in such a layout may be writable.
 * - In other layouts, only a read-only subvolume is a snapshot.  It belongs to its nearest ancestor
 *   that is not a snapshot.
 * - This ancestor may not exist any more.  If exactly one subvolume that is not a snapshot still
 *   has common ancestors with the snapshot, the snapshot belongs to this subvolume, which was
 *   probably restored from a snapshot.
 * - All other snapshots are joined to lines by common ancestors, or by their directory and the part
 *   of their names before a date.
 *
 * The name of a line is the path of its subvolume without the first slash, or "rootfs" for the
 * subvolume at "/".  In the layouts above, the name of a snapshot is N or DATE.  In other layouts
 * it is the last name of the path, or the name of the directory if only the directory's name has a
 * date.  A byte that the form of names does not allow becomes '_'.  If two snapshots of a line then
 * have the same name, both names get the name of the directory and ':' at the start.  If they are
 * still the same, both get ':' and the number of the subvolume at the end.
 */
#pragma once
#include "query/btrfsvols.h"

struct btrfslines {
	struct btrfsline {
		const char *name;
		/* path of the live subvolume, or of a directory that contains the snapshots */
		const char *path;
		size_t live; /* index of the live subvolume, or BTRFSVOLS_NONE */
		/* The snapshots of the line, with the oldest first. */
		struct btrfspoint {
			size_t vol;
			const char *name;
			/* may be a snapshot of snapper, with an info.xml beside it */
			bool numbered;
		} * points;
		size_t n, cap;
		uint64_t hidden; /* number of snapshots that this user may not open */
	} * list;
	size_t n, cap;
	struct arena arena;
};

/* Fill *lines, sorted by name.  *vols must live as long as *lines. */
void btrfslines_find(struct btrfslines *lines, const struct btrfsvols *vols);
void btrfslines_release(struct btrfslines *lines);
const struct btrfsline *btrfslines_get(const struct btrfslines *lines, const char *name);
const struct btrfspoint *btrfslines_point(const struct btrfsline *line, const char *name);
/* Returns the name that the line of a live subvolume at this path has.  The name lies in arena. */
const char *btrfslines_name(const char *path, struct arena *arena);
