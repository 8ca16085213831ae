/*
 * btrfsplace - reads the name of a btrfs snapshot, and the subvolume that it belongs to, from its
 * path.
 *
 * This is only a claim of the path.  btrfslines.h compares it with the data of the kernel.
 */
#pragma once
#include <stdbool.h>

#include "core/arena.h"
#include "core/str.h"

struct btrfsplace {
	struct str name; /* name of the snapshot, as in the path */
	/*
	 * The path where its live subvolume should be, in the layouts of snapper
	 * (LIVE/.snapshots/N/snapshot) and timeshift (TOP/timeshift-btrfs/snapshots/DATE/NAME, with
	 * TOP/NAME).  It lies in arena.  NULL: another layout.
	 */
	const char *live;
	/*
	 * The directory of the snapshot, and the common part of the names of snapshots of the same
	 * subvolume there.
	 */
	struct str dir, stem;
	bool dated;    /* the name has a date, and the stem is the rest */
	bool numbered; /* the name is N of .../N/snapshot */
};

/* Read a path.  It must be absolute, and must be valid as long as *place is used. */
void btrfsplace_of(const char *path, struct arena *arena, struct btrfsplace *place);
