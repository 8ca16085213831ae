/*
 * switchuser - turn a process of root into one of the user that an environment belongs to.
 *
 * Files that root writes would belong to root: the user could neither open nor remove them.  And a
 * capture by root would record the ids that files have outside the user's user namespace.
 */
#pragma once
#include "core/err.h"

/*
 * If this process is root and the environment at rootfd belongs to another user, take on that
 * user's ids and groups for good, and drop all capabilities.  The process must have no other
 * threads.
 */
int switchuser_to_owner(int rootfd, const char *root, struct err *err);
