/*
 * discard - removes the files of a live tree whose content the last capture did not store.
 *
 * A rollback that must not need more disk space than it frees begins with this removal.
 */
#pragma once
#include "tree/scan.h"

/*
 * Remove each file whose content is new or possibly new according to the scan.  fd is the scanned
 * directory.  Directories stay.  A file that cannot be removed is reported.
 */
int discard_changed(struct scan *scan, int fd, struct report *report, struct err *err);
