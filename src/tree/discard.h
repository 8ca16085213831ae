/*
 * discard - remove the files of a live tree that the last capture does not have as they are.
 *
 * For a rollback that must not take more room on the disk than it frees.
 */
#pragma once
#include "tree/scan.h"

/*
 * Remove each file below fd, which was scanned, whose content is new or may be.  Directories
 * stay, and what cannot be removed is reported.
 */
int discard_changed(struct scan *scan, int fd, struct report *report, struct err *err);
