/*
 * fsids - act on files as another id, and keep all capabilities.
 *
 * A file that a process makes belongs to its file ids.  A file system whose mount maps ids accepts
 * only ids that it knows.
 */
#pragma once
#include "core/err.h"

/* The previous file ids of this thread. */
struct fsids {
	unsigned uid, gid;
};

/* From now on this thread, and threads it starts, act on files as uid and gid. */
int fsids_take(unsigned uid, unsigned gid, struct fsids *before, struct err *err);
int fsids_give_back(const struct fsids *before, struct err *err);
