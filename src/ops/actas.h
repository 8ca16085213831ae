/*
 * actas - root acts as the owner of an environment, not as root.
 *
 * What root writes would be root's: the owner could neither open nor remove it,
 * and captures by root would record the ids the files have outside the owner's
 * user namespace.
 */
#pragma once
#include "core/err.h"

/*
 * Where this process is root and the environment at rootfd is another user's, become that
 * user for good: ids, groups, no capabilities.  The process must have one thread.
 */
int actas_owner(int rootfd, const char *root, struct err *err);
