/*
 * fence - keeps root in a sandbox from mounting new file systems, if this root has the id of the
 * host's root.
 *
 * Some kernel file systems, above all cgroups, obey the id of the host's root in any namespace.
 * The mounts of a sandbox do not show these file systems, but root in the sandbox could mount them
 * anew.
 */
#pragma once
#include "core/err.h"

/* From now on this process and its children cannot mount anything new. */
int fence_mounts(struct err *err);
