/*
 * removal - removes a whole tree, whatever its owners and modes.
 *
 * Nothing outside the tree is touched: symbolic links are not followed, and mounts stay and are
 * reported.  A directory that this process owns but may not write is made writable first.  If a
 * name cannot be removed, the other names are still removed.
 *
 * A tree may be deeper than the number of descriptors that a process can have.  So very deep
 * directories are first moved up to the top of the tree.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct removal {
	/*
	 * Called for each name that cannot be removed, with its path and the errno.  The path
	 * begins with the name of the top directory.
	 */
	void (*stays)(void *arg, const char *path, int error);
	/* Called now and then with the number of removed names. */
	void (*progress)(void *arg, uint64_t removed);
	/*
	 * Try a quicker way to remove a whole directory, such as deleting a subvolume.  Returns
	 * false if the directory has to be removed name by name.
	 */
	bool (*whole)(void *arg, int dirfd, const char *name, const struct statx *stx);
	void *arg;
	uint64_t removed; /* number of names that all runs have removed */
};

/* Prefix of the name of a tree that will be removed later, in the background. */
#define REMOVAL_GONE ".gone-"

/*
 * Remove a file or directory and everything below it; the name may be missing.  Returns 0, or
 * -errno of the first name that could not be removed.
 */
int removal_run(struct removal *removal, int dirfd, const char *name);
