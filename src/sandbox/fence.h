/*
 * fence - what root of the host must not be able to do, inside, with its own id.
 *
 * Files of some kernel file systems, cgroups above all, obey the id of root of the
 * host in whatever namespace it acts; the mounts of a sandbox keep them out of sight, but
 * root inside could mount them anew.
 */
#pragma once
#include "core/err.h"

/* From now on this process and its children cannot mount anything new. */
int fence_mounts(struct err *err);
