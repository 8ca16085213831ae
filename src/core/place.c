#include "core/place.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "core/at.h"

static int rename_with(const struct place *place, unsigned flags)
{
	return renameat2(place->dirfd, place->temporary, place->dirfd, place->name, flags) < 0
		       ? -errno
		       : 0;
}

static int move_to_free_name(struct place *place)
{
	struct statx stx;
	int r = rename_with(place, RENAME_NOREPLACE);

	/* Some file systems do not support RENAME_NOREPLACE. */
	if (r == -EINVAL && at_name_stat(place->dirfd, place->name, &stx) == -ENOENT)
		r = rename_with(place, 0);
	if (r == 0)
		return 1;
	(void)unlinkat(place->dirfd, place->temporary, 0);
	return r == -EEXIST || r == -EINVAL ? 0 : r;
}

/*
 * Exchange the names again, and remove the new file, whose inode number is 'made'.  To be called
 * when the check after the first exchange has found a file that is not the old file.
 */
static int undo_exchange(const struct place *place, uint64_t made)
{
	struct statx stx;

	if (rename_with(place, RENAME_EXCHANGE) < 0)
		(void)rename_with(place, RENAME_NOREPLACE);
	else if (at_name_stat(place->dirfd, place->temporary, &stx) == 0 && stx.stx_ino == made)
		(void)unlinkat(place->dirfd, place->temporary, 0);
	return 0;
}

int place_rename(struct place *place)
{
	struct statx made;

	place->failed = "rename into place";
	if (!place->is_old)
		return move_to_free_name(place);
	int r = at_name_stat(place->dirfd, place->temporary, &made);
	if (r == 0)
		r = rename_with(place, RENAME_EXCHANGE);
	if (r == 0 && !place->is_old(place->arg, place->dirfd, place->temporary))
		return undo_exchange(place, made.stx_ino);
	if (r == -ENOENT)
		return move_to_free_name(place);
	/* Some file systems do not support RENAME_EXCHANGE. */
	if (r == -EINVAL && place->is_old(place->arg, place->dirfd, place->name))
		r = rename_with(place, 0);
	/* A file left under the temporary name would look like a file of the user. */
	if (unlinkat(place->dirfd, place->temporary, 0) < 0 && errno != ENOENT && r == 0) {
		place->failed = "remove what it replaces";
		return -errno;
	}
	return r == -EINVAL ? 0 : r < 0 ? r : 1;
}
