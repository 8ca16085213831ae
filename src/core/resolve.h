/*
 * resolve - opens a path below a directory, and may follow links.  The path may come from another
 * program.
 *
 * Unlike at.h, resolve follows symbolic links as far as the caller allows.  The kernel (openat2)
 * makes sure that the result lies below the directory at the moment of opening.  Where openat2 is
 * missing or filtered, the path is walked one name at a time.  Each name is then checked, and a
 * name that is a link is never opened directly.
 *
 * Magic links (/proc/self/root) are never followed.  All functions return -errno on failure.
 */
#pragma once
#include "core/str.h"

#define RESOLVE_LINKS_MAX 40  /* as in the kernel */
#define RESOLVE_STEPS_MAX 256 /* directories in a path; counted only where openat2 is missing */

enum resolve_links {
	/* -ELOOP for a link, except for the last name with O_PATH | O_NOFOLLOW */
	RESOLVE_LINKS_NONE,
	RESOLVE_LINKS_BENEATH, /* -EXDEV for a link that leaves the directory */
	RESOLVE_LINKS_WITHIN,  /* the directory counts as "/", so absolute links begin there */
};

/*
 * Open a path, which must be relative and without ".." (otherwise -EXDEV).  Returns an owned
 * descriptor.
 */
int resolve_open(int dirfd, const char *path, int flags, enum resolve_links links);
/* Open the file of an O_PATH descriptor again, with other flags.  This needs /proc. */
int resolve_reopen(int fd, int flags);
/* Whether a path has a component "..". */
bool resolve_goes_up(const char *path);
