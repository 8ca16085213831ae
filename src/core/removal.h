/*
 * removal - remove a whole tree, whatever its owners and modes.
 *
 * Nothing outside the tree is touched: symbolic links are not followed, and mounts stay and are
 * reported.  A directory that we own but may not write is made writable first.  A name that cannot
 * be removed does not stop the rest.
 *
 * A tree may be deeper than there are descriptors: very deep directories are first moved up to the
 * top.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct removal {
	/* Called for each name that stays: its path, from the top's name on, and the errno. */
	void (*stays)(void *arg, const char *path, int error);
	/* Called now and then with the number of removed names. */
	void (*progress)(void *arg, uint64_t removed);
	/* Try a quicker way to remove a whole directory (a subvolume); false: not possible. */
	bool (*whole)(void *arg, int dirfd, const char *name, const struct statx *stx);
	void *arg;
	uint64_t removed; /* names, in all runs */
};

/* Trees to be removed later, in the background, are renamed to begin like this. */
#define REMOVAL_GONE ".gone-"

/* Remove a name and everything below; it may be missing.  0, or -errno of the first that stays. */
int removal_run(struct removal *removal, int dirfd, const char *name);
