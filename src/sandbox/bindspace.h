/*
 * bindspace - the mounts of a sandbox with binds added, for one command.
 */
#pragma once
#include "sandbox/bindspec.h"
#include "sandbox/sandbox.h"

/*
 * A mount namespace with the sandbox's mounts and these binds, noted where others can see which
 * files of the host it has (bindlist.h): a descriptor.  points gets how many mount points were made
 * in the tree.
 */
int bindspace_make(
	const struct sandbox *sandbox, const struct bindspecs *binds, int *points, struct err *err);
