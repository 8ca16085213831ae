/*
 * btrfsfamily - the family "btrfs": subvolumes of mounted btrfs file systems and their snapshots.
 *
 * A dataset is a line of snapshots (btrfslines.h).  Everything is read by this process itself: no
 * program is run, nothing is mounted, and the right to read the files is enough.  A request for a
 * list of snapshots searches for the snapshots again if the last search is old (btrfsvols_fresh).
 */
#pragma once
#include "query/family.h"

struct family *btrfsfamily_new(void); /* closed like any other family */
