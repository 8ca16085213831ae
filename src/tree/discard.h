/*
 * discard - removes the files of a live tree whose content the last capture did not store.
 *
 * This removal is the first step of a rollback that must not need more disk space than it frees.
 */
#pragma once
#include "tree/scan.h"

/*
 * Remove each file whose content, according to the scan, is new or may be new.  fd must be the
 * scanned directory.  Directories are not removed.  A file that cannot be removed is reported.
 */
int discard_changed(struct scan *scan, int fd, struct report *report, struct err *err);
