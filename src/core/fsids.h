/*
 * fsids - to act on files as another id, and keep all capabilities.
 *
 * What a process makes belongs to its ids for files.  A file system whose mount maps ids takes
 * only those that it knows.
 */
#pragma once
#include "core/err.h"

/* The ids for files of this thread before, to be put back. */
struct fsids {
	unsigned uid, gid;
};

/* From now on this thread, and those that it makes, act on files as uid and gid. */
int fsids_take(unsigned uid, unsigned gid, struct fsids *before, struct err *err);
int fsids_give_back(const struct fsids *before, struct err *err);
