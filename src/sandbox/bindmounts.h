/*
 * bindmounts - mounts files and directories of the host for one command.
 *
 * A command with binds has a mount namespace of its own: a copy of the holder's, with the binds on
 * top.  So only that command and the programs that it starts see a bind.  The bind ends with the
 * last of these programs.  The live tree that strata itself reads and writes (sandbox_open_root)
 * never contains a bind, so no file of the host is captured or restored.
 *
 * The copy is made in the user namespace that the sandbox was built in.  Programs of the sandbox
 * run in a child of that user namespace, and get a further copy, which belongs to the child.  In
 * the further copy, the kernel locks the mounts: a mount that is read-only stays read-only, and a
 * file that a mask covers stays covered.
 */
#pragma once
#include "core/err.h"
#include "sandbox/bindspec.h"

/*
 * Leave the host's mounts, and enter a copy of the mounts of the mount namespace 'mnt', with the
 * binds on top.  The caller must have only one thread, and must be in the user namespace that the
 * sandbox was built in.  'ids' is the user namespace in which programs of the sandbox run, if that
 * namespace has the ids of ids.h, else -1.  Afterwards the caller has to join that user namespace
 * and unshare its mounts once more there.  Returns the number of mount points that were missing in
 * the tree and were made.
 */
int bindmounts_enter(const struct bindspecs *binds, int mnt, int ids, struct err *err);
