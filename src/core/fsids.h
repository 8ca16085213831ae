/*
 * fsids - access files with other user and group ids, and keep all capabilities.
 *
 * A new file belongs to the file ids (fsuid and fsgid) of the thread that makes it.  On a mount
 * that maps ids, a file can be made only with ids that the mapping contains.
 */
#pragma once
#include "core/err.h"

/* The file ids that a thread had before fsids_take. */
struct fsids {
	unsigned uid, gid;
};

/*
 * From now on, this thread and threads that it starts have the file ids uid and gid.  *before gets
 * the previous ids, which fsids_give_back sets again.
 */
int fsids_take(unsigned uid, unsigned gid, struct fsids *before, struct err *err);
int fsids_give_back(const struct fsids *before, struct err *err);
