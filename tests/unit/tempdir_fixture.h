/*
 * tempdir_fixture - removes a directory that a test has made.  This works even if /tmp is a mount.
 */
#pragma once
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

/*
 * Remove the directory with this absolute path.  The path is split, since at_remove_tree does not
 * cross mounts.
 */
static inline int tempdir_remove(const char *path)
{
	owned_mem char *parent = strdup(path);
	char *slash = strrchr(parent, '/');
	struct err err = { 0 };

	*slash = '\0';
	owned_fd int dir = open(*parent ? parent : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : at_remove_tree(dir, slash + 1, &err);
}
