/*
 * switchuser - turns a process of root into a process of the user who owns an environment.
 *
 * Files that root writes would belong to root, so the user could neither open nor remove them.
 * Also, a capture by root would record the ids that files have outside the user's user namespace.
 */
#pragma once
#include "core/err.h"

/*
 * Take on the ids and groups of the environment's owner, and drop all capabilities.  This is done
 * only if this process is root and the environment at rootfd belongs to another user.  The change
 * cannot be undone.  The process must have no other threads.
 */
int switchuser_to_owner(int rootfd, const char *root, struct err *err);
