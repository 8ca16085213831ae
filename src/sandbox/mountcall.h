/*
 * mountcall - file systems and mounts that are not attached anywhere yet.
 *
 * A mount is made or copied first, then restricted, and attached last, so that nobody ever sees it
 * without its restrictions.  A descriptor holds it until then.
 */
#pragma once
#include <stdint.h>
#include <sys/mount.h>

#include "core/err.h"

/* What the files of a mount that holds only data cannot do. */
#define MOUNTCALL_DATA (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

struct mountcall_option {
	const char *key, *value; /* value NULL: a flag.  The last option of a list has no key */
};

/* Set an option of a file system context of fsopen(2); -1 and errno. */
int mountcall_set(int fs, const char *key, const char *value);
/* Set err from errno and from the message in the kernel's log of this file system context. */
int mountcall_failed(int fs, const char *type, struct err *err);
/* Make a file system; returns the descriptor of its mount. */
int mountcall_new(
	const char *type, const struct mountcall_option *options, unsigned attr, struct err *err);
/* Add restrictions; with AT_RECURSIVE in flags to all mounts of the tree.  -1 and errno. */
int mountcall_restrict(int tree, unsigned flags, uint64_t attr);
/* Attach a mount to a name, which is not followed if it is a link.  -1 and errno. */
int mountcall_attach(int tree, int dirfd, const char *name);
/* Detach a mount that nothing is mounted on; the working directory becomes its root. */
int mountcall_detach(int tree);
/* Make an attached mount the root of the mount namespace, without what was there before. */
int mountcall_become_root(int tree, struct err *err);
