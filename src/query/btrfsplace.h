/*
 * btrfsplace - what the path of a btrfs snapshot tells: its name, and the subvolume it belongs to.
 *
 * This is only a claim of the path, which btrfslines.h compares with what the kernel knows.
 */
#pragma once
#include <stdbool.h>

#include "core/arena.h"
#include "core/str.h"

struct btrfsplace {
	struct str name; /* of the snapshot, as the directories have it */
	/*
	 * The path where its live subvolume should be, in the layouts of snapper
	 * (LIVE/.snapshots/N/snapshot) and timeshift (TOP/timeshift-btrfs/snapshots/DATE/NAME, with
	 * TOP/NAME).  It lies in arena.  NULL: another layout.
	 */
	const char *live;
	/* A directory, and what the names of snapshots of the same subvolume there share. */
	struct str dir, stem;
	bool dated;    /* the name has a date, and the stem is the rest */
	bool numbered; /* the name is N of .../N/snapshot */
};

/* path is absolute, and must live as long as *place is used. */
void btrfsplace_of(const char *path, struct arena *arena, struct btrfsplace *place);
