/*
 * bindmounts - files and directories of the host that one command finds inside.
 *
 * A command with binds has a mount namespace of its own: a copy of the holder's, with the binds on
 * top.  So a bind is there for that command and what it starts, whatever else runs in the sandbox,
 * and goes with the last of them.  The live tree that strata itself reads and writes
 * (sandbox_open_root) never has a bind in it: nothing of the host is captured or restored.
 *
 * The copy is made in the user namespace the sandbox was built in, and copied again below it. There
 * the kernel locks it: what is read-only stays so, and what a mask covers stays covered.
 */
#pragma once
#include "core/err.h"
#include "sandbox/bindspec.h"

/*
 * In a process of the user namespace the sandbox was built in, with one thread: leave the host's
 * mounts for a copy of those of the namespace mnt, with the binds on top.  ids is the user
 * namespace of an inside that has the ids of ids.h, else -1.  The caller goes on to the user
 * namespace below and there unshares its mounts once more.  Returns how many mount points were
 * missing in the tree and were made there.
 */
int bindmounts_enter(const struct bindspecs *binds, int mnt, int ids, struct err *err);
