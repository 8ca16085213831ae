/*
 * resolve - opening paths that others name below a directory, where links may be followed.
 *
 * Like at.h, but a symbolic link inside is followed as far as the caller allows, and the kernel
 * makes sure that the result lies below the directory at the moment of opening (openat2).  Where
 * openat2 is missing or filtered, the path is walked one name at a time, and no name is opened
 * before it is known not to be a link.
 *
 * Magic links (/proc/self/root) are never followed.  All functions return -errno on failure.
 */
#pragma once
#include "core/str.h"

#define RESOLVE_LINKS_MAX 40  /* as in the kernel */
#define RESOLVE_STEPS_MAX 256 /* directories, where openat2 is missing */

enum resolve_links {
	RESOLVE_LINKS_NONE,    /* -ELOOP; with O_PATH | O_NOFOLLOW the last name may be one */
	RESOLVE_LINKS_BENEATH, /* a link that leaves the directory is -EXDEV */
	RESOLVE_LINKS_WITHIN,  /* absolute links begin at the directory, which is a root */
};

/* path is relative and has no ".." (-EXDEV); the result is owned. */
int resolve_open(int dirfd, const char *path, int flags, enum resolve_links links);
/* Open the file behind a descriptor of O_PATH with other flags.  It needs /proc. */
int resolve_reopen(int fd, int flags);
/* Whether a path has a component "..". */
bool resolve_goes_up(const char *path);
