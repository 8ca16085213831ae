/*
 * mountcall - makes file systems and mounts that are not attached anywhere yet.
 *
 * A mount is first made or copied, then restricted, and attached last.  So no program ever sees it
 * without its restrictions.  Until a mount is attached, a descriptor keeps the mount alive.
 */
#pragma once
#include <stdint.h>
#include <sys/mount.h>

#include "core/err.h"

/*
 * The restrictions of a mount that has only data: no set-user-id programs, no devices, no programs
 * at all.
 */
#define MOUNTCALL_DATA (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

struct mountcall_option {
	const char *key, *value; /* value NULL: a flag.  The last option of a list has key NULL */
};

/* Set an option of fs, a file system context of fsopen(2).  Returns -1 with errno on failure. */
int mountcall_set(int fs, const char *key, const char *value);
/* Set err from errno and from the kernel's message for this file system context. */
int mountcall_failed(int fs, const char *type, struct err *err);
/* Make a file system.  Returns a descriptor of its mount. */
int mountcall_new(
	const char *type, const struct mountcall_option *options, unsigned attr, struct err *err);
/*
 * Add restrictions to a mount or, with AT_RECURSIVE in 'flags', to all mounts of its tree.  Returns
 * -1 with errno on failure.
 */
int mountcall_restrict(int tree, unsigned flags, uint64_t attr);
/*
 * Attach a mount to a name.  If the name is a link, it is not followed.  Returns -1 with errno on
 * failure.
 */
int mountcall_attach(int tree, int dirfd, const char *name);
/*
 * Detach a mount.  No other mount may be on it.  Its root becomes the working directory of this
 * process.
 */
int mountcall_detach(int tree);
/*
 * Make an attached mount the root of the mount namespace.  The mounts that the namespace had before
 * are removed.
 */
int mountcall_become_root(int tree, struct err *err);
