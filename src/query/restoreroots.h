/*
 * restoreroots - the directories in which files may be restored.
 *
 * A directory is opened once, when it is added.  At this time, symlinks in its path are followed.
 * Later only its descriptor is used.  So a target lies below exactly this directory, even if the
 * path now leads to another directory.  No component of a target below the directory may be
 * a symlink.
 *
 * A target is an absolute path.  It may begin with the path that was given for the directory, or
 * with the path that the directory had when it was added.
 *
 * A directory called ".zfs" is refused, since making a directory there makes a ZFS snapshot.
 *
 * A struct of zeros has no directories, so every target is refused.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/str.h"

struct restoreroots {
	struct restoreroot {
		char *given; /* absolute path without its first slash; cleaned by clean_path */
		char *real;  /* as 'given', but the path after resolving symlinks */
		int fd;
	} * list;
	size_t n, cap;
};

/* Add a directory whose path a person typed. */
int restoreroots_add(struct restoreroots *roots, const char *path, struct err *err);
void restoreroots_release(struct restoreroots *roots);

/* The place of a file to be restored. */
struct restoreroots_target {
	int dir;    /* descriptor of the directory that has the file, or will have it */
	char *name; /* name of the file in that directory */
};

/*
 * Open the directory of the target at 'path'.  Fails with ERR_DENIED if 'path' is not absolute, if
 * it is not below a directory of the list, or if a component is a symlink, ".." or ".zfs".  Fails
 * with ERR_NOT_FOUND if the directory of the target does not exist.
 */
int restoreroots_open(const struct restoreroots *roots, struct str path,
	struct restoreroots_target *target, struct err *err);
/* Whether the directory of a target is the directory dir, or lies below it. */
bool restoreroots_target_within(const struct restoreroots_target *target, int dir);
void restoreroots_target_release(struct restoreroots_target *target);
