/*
 * btrfsplace - finds the name of a btrfs snapshot, and the path of its live subvolume, by looking
 * only at the path of the snapshot.
 *
 * A path can be wrong about both.  So btrfslines.c compares the result with the data of the kernel.
 */
#pragma once
#include <stdbool.h>

#include "core/arena.h"
#include "core/str.h"

struct btrfsplace {
	struct str name; /* name of the snapshot, as in the path */
	/*
	 * The path where the live subvolume of the snapshot should be.  This is LIVE in the layout
	 * of snapper (LIVE/.snapshots/N/snapshot), and TOP/NAME in the layout of timeshift
	 * (TOP/timeshift-btrfs/snapshots/DATE/NAME).  NULL: another layout.  The text lies in
	 * arena.
	 */
	const char *live;
	/*
	 * The directory of the snapshot, and the part of the name that all snapshots of one
	 * subvolume in this directory have in common.
	 */
	struct str dir, stem;
	bool dated;    /* the name has a date, and the stem is the rest */
	bool numbered; /* the name is N of .../N/snapshot */
};

/* Read a path.  It must be absolute, and must be valid as long as *place is used. */
void btrfsplace_of(const char *path, struct arena *arena, struct btrfsplace *place);
