/*
 * fence - keeps root inside from mounting new file systems, if it has the id of root of the host.
 *
 * Files of some kernel file systems, above all cgroups, obey the id of root of the host in any
 * namespace.  The mounts of a sandbox do not show these file systems, but root inside could mount
 * them anew.
 */
#pragma once
#include "core/err.h"

/* From now on this process and its children cannot mount anything new. */
int fence_mounts(struct err *err);
