/*
 * discard - remove the files of a live tree whose content the last capture did not store.
 *
 * A rollback does this first when it must not take more room on the disk than it frees.
 */
#pragma once
#include "tree/scan.h"

/*
 * Remove each file below fd, the scanned directory, whose content is or may be new.  Directories
 * stay. A file that cannot be removed is reported.
 */
int discard_changed(struct scan *scan, int fd, struct report *report, struct err *err);
