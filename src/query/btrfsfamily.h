/*
 * btrfsfamily - the family "btrfs": subvolumes of mounted btrfs file systems and their snapshots.
 *
 * A dataset is a line of snapshots (btrfslines.h).  Everything is read by this process itself: no
 * program is run, nothing is mounted, and no privilege is needed beyond that to read the files.
 * Snapshots are found anew whenever a list of them is asked for.
 */
#pragma once
#include "query/family.h"

struct family *btrfsfamily_new(void); /* closed like any other family */
