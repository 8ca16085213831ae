/*
 * removal - take a whole tree away, whatever its owners and modes.
 *
 * Nothing is followed out of the tree: no symbolic link, and no mount, which
 * stays and is reported.  A directory we own but may not write is made
 * writable first.  What cannot be removed does not keep the rest.
 *
 * A tree may be deeper than there are descriptors: what lies very deep is
 * moved up to the top first.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct removal {
	/* Told of each name that stays: its path, beginning with the top's name, and the errno. */
	void (*stays)(void *arg, const char *path, int error);
	/* Told now and then how much is gone. */
	void (*progress)(void *arg, uint64_t removed);
	/* Try a quicker way to remove a directory as a whole (a subvolume); false: there is none.
	 */
	bool (*whole)(void *arg, int dirfd, const char *name, const struct statx *stx);
	void *arg;
	uint64_t removed; /* names, of all runs */
};

/* What is to be removed later, when others need not wait for it, is renamed to begin so. */
#define REMOVAL_GONE ".gone-"

/* Remove the name in dirfd and all below; missing is fine.  0, or -errno of the first that stays.
 */
int removal_run(struct removal *removal, int dirfd, const char *name);
