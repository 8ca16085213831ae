/*
 * mountcover - makes the mounts that cover the files that a plan hides.
 *
 * A cover is a mask (maskfs.h) or a directory in memory.  A hole in a cover is a place that stays
 * visible.  The cover contains the directories that lead to its holes.  The visible places are
 * mounted on the holes afterwards.
 */
#pragma once
#include "sandbox/maskfs.h"
#include "sandbox/mountplaces.h"
#include <stdint.h>

/*
 * The names in one cover that is a directory in memory, or the names in all covers that are masks.
 */
struct mountcover {
	struct maskfs_node *list;
	size_t n, capacity;
};

/*
 * Add the directories that lead to the holes of a hidden place.  If 'top' is not NULL, also add the
 * place itself, under this name.  If 'top' is NULL, the place is the root of a file system of its
 * own.
 */
void mountcover_add(struct mountcover *cover, struct arena *arena, const struct mountplace *place,
	const char *top);
void mountcover_release(struct mountcover *cover);

/*
 * Make a file system in memory with the names in 'cover'.  Its directories serve as empty masks.
 * Returns the mount.
 */
int mountcover_new_masks(const struct mountcover *cover, int nobody, struct err *err);
/*
 * Make a directory in memory with the names in 'cover', which belong to the user 'owner'.  The
 * files in it may take up to 'most' bytes of memory; 0: as many as the kernel allows.  Returns the
 * mount.
 */
int mountcover_new_directory(
	const struct mountcover *cover, mode_t mode, unsigned owner, int64_t most, struct err *err);

/* Names in a stage (mountcover_new_stage): two directories and two files. */
#define MOUNTCOVER_DIR "dir"
#define MOUNTCOVER_FILE "file"
#define MOUNTCOVER_UNDER_DIR "under"
#define MOUNTCOVER_UNDER_FILE "beneath"

/*
 * Make a stage: a new file system that is attached to "/", where this process does not see it.
 * Before Linux 6.15 only attached mounts can be copied, so mounts are attached in the stage first.
 * mountcall_detach removes the stage.
 */
int mountcover_new_stage(struct err *err);
