/*
 * bindmounts - mounts files and directories of the host for one command.
 *
 * A command with binds has a mount namespace of its own: a copy of the holder's, with the binds on
 * top.  So only that command and the programs that it starts see a bind, and the bind ends with
 * the last of them.  The live tree that strata itself reads and writes (sandbox_open_root) never
 * has a bind in it: nothing of the host is captured or restored.
 *
 * The copy is made in the user namespace that the sandbox was built in, and copied again in the
 * user namespace below, that of the inside.  There the kernel locks the mounts: what is read-only
 * stays read-only, and what a mask covers stays covered.
 */
#pragma once
#include "core/err.h"
#include "sandbox/bindspec.h"

/*
 * Leave the host's mounts for a copy of the mounts of the namespace mnt, with the binds on top.
 * The caller has one thread and is in the user namespace that the sandbox was built in.  ids is the
 * user namespace of the inside if that has the ids of ids.h, else -1.  Afterwards the caller has to
 * join the user namespace of the inside and unshare its mounts once more there.  Returns how many
 * mount points were missing in the tree and were made.
 */
int bindmounts_enter(const struct bindspecs *binds, int mnt, int ids, struct err *err);
