/*
 * mountcover - mounts that cover what a plan hides.
 *
 * A cover is a mask, or a directory in memory.  It has the directories that lead to its holes, on
 * which the places to be seen are mounted afterwards.
 */
#pragma once
#include "sandbox/maskfs.h"
#include "sandbox/mountplaces.h"

/* The names in a cover, and with masks in all of them. */
struct mountcover {
	struct maskfs_node *list;
	size_t n, capacity;
};

/*
 * Add the way to each hole of a hidden place, and the place itself under the name top.  top NULL:
 * the cover is a file system of its own.
 */
void mountcover_add(struct mountcover *cover, struct arena *arena, const struct mountplace *place,
	const char *top);
void mountcover_release(struct mountcover *cover);

/* A file system in memory with these names, whose files are of no use.  Returns the mount. */
int mountcover_new_masks(const struct mountcover *cover, int nobody, struct err *err);
/* A directory in memory with these names, which belong to owner.  Returns the mount. */
int mountcover_new_directory(
	const struct mountcover *cover, mode_t mode, unsigned owner, struct err *err);

/* Names in a stage: two directories and two files. */
#define MOUNTCOVER_DIR "dir"
#define MOUNTCOVER_FILE "file"
#define MOUNTCOVER_UNDER_DIR "under"
#define MOUNTCOVER_UNDER_FILE "beneath"

/*
 * Attach an empty file system to "/", where this process does not see it, to attach others in it:
 * before Linux 6.15 only mounts that are attached can be copied.  mountcall_detach removes it.
 */
int mountcover_new_stage(struct err *err);
