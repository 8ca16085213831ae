/* bindspace - the mounts of a sandbox with binds added, for one command. */
#pragma once
#include "sandbox/bindspec.h"
#include "sandbox/sandbox.h"

/*
 * Make a mount namespace with the sandbox's mounts and these binds, and add the binds to the list
 * that others read (bindlist.h).  Returns a descriptor of the namespace.  *points is the number of
 * mount points that were made in the tree.
 */
int bindspace_make(
	const struct sandbox *sandbox, const struct bindspecs *binds, int *points, struct err *err);
