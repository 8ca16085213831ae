#include "core/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/own.h"

#define DEPTH_MAX 256     /* levels open at a time; each needs two descriptors */
#define PASSES_MAX 16     /* tries to empty a directory in which other programs make files */
#define PROGRESS_STEP 256 /* names between two reports */
#define RAISED_MAX 64     /* size of the new name of a deep directory that is moved to the top */

struct walk {
	struct removal *how;
	int top;         /* the top directory of the removal */
	uint64_t mnt_id; /* id of the only mount in which names are removed */
	unsigned raised; /* directories that were moved to the top so far */
	int first;       /* -errno of the first name that was not removed */
	struct buf path;
};

static bool empty_directory(struct walk *walk, int fd, unsigned depth);

static bool note_kept(struct walk *walk, int error)
{
	if (!walk->first)
		walk->first = -error;
	if (walk->how->stays)
		walk->how->stays(walk->how->arg, walk->path.data, error);
	return false;
}

static bool gone(struct walk *walk)
{
	struct removal *how = walk->how;

	if (++how->removed % PROGRESS_STEP == 0 && how->progress)
		how->progress(how->arg, how->removed);
	return true;
}

/*
 * Open a directory on the mount of the walk, and give its owner all permissions if possible.
 * Returns -errno on failure.
 */
static int open_directory(const struct walk *walk, int dirfd, const char *name, struct statx *stx)
{
	int r = at_name_stat(dirfd, name, stx);

	if (r < 0)
		return r;
	if (!S_ISDIR(stx->stx_mode))
		return -ENOTDIR;
	if (stx->stx_mnt_id != walk->mnt_id)
		return -EBUSY;
	if ((stx->stx_mode & 0700) != 0700)
		(void)at_name_chmod(dirfd, name, 0700);
	owned_fd int fd = at_name_open(dirfd, name, O_RDONLY | O_DIRECTORY);
	/* Another file system may have been mounted on the directory meanwhile. */
	r = fd < 0 ? fd : at_fd_stat(fd, stx);
	if (r < 0)
		return r;
	return stx->stx_mnt_id == walk->mnt_id ? take_fd(&fd) : -EBUSY;
}

/* Move a directory to the top of the tree, where the walk will find it again. */
static bool move_to_top(struct walk *walk, int dirfd, const char *name)
{
	char there[RAISED_MAX];
	int r;

	do {
		snprintf(there, sizeof(there), ".strata-removed-%u", walk->raised++);
		r = renameat2(dirfd, name, walk->top, there, RENAME_NOREPLACE);
	} while (r < 0 && errno == EEXIST && walk->raised < UINT_MAX);
	return r == 0;
}

/* Empty and remove the directory dirfd/name, which is open as fd. */
static bool remove_emptied(struct walk *walk, int dirfd, const char *name, int fd, unsigned depth)
{
	int passes = 0;

	for (;;) {
		unsigned raised = walk->raised;

		if (!empty_directory(walk, fd, depth))
			return false;
		if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return gone(walk);
		/*
		 * If this directory is the top of the tree, directories may have been moved into it
		 * while it was listed.  The listing misses a directory whose entry is at a place
		 * that the listing had already passed.  Another pass finds it.
		 */
		if (errno != ENOTEMPTY || (walk->raised == raised && ++passes == PASSES_MAX))
			return note_kept(walk, errno);
	}
}

static bool remove_directory(
	struct walk *walk, int dirfd, const char *name, unsigned depth, int refused)
{
	struct removal *how = walk->how;
	struct statx stx;
	owned_fd int fd = open_directory(walk, dirfd, name, &stx);

	if (fd < 0)
		return note_kept(walk, fd == -ENOTDIR || fd == -ELOOP ? refused : -fd);
	if (how->whole && how->whole(how->arg, dirfd, name, &stx))
		return gone(walk);
	if (depth == 0)
		walk->top = fd;
	if (depth >= DEPTH_MAX && move_to_top(walk, dirfd, name))
		return true;
	return remove_emptied(walk, dirfd, name, fd, depth);
}

static bool remove_name(struct walk *walk, int dirfd, const char *name, unsigned depth)
{
	if (unlinkat(dirfd, name, 0) == 0)
		return gone(walk);
	if (errno == ENOENT)
		return true;
	/*
	 * unlinkat refuses a directory with an errno that depends on the file system and on the
	 * permissions of the parent.
	 */
	if (errno != EISDIR && errno != EPERM && errno != EACCES)
		return note_kept(walk, errno);
	return remove_directory(walk, dirfd, name, depth, errno);
}

/* Remove each name in an open directory.  Returns true if no name is left. */
static bool empty_directory(struct walk *walk, int fd, unsigned depth)
{
	owned(at_list_closep) DIR *list =
		at_list_take(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	size_t len = walk->path.len;
	bool all = true;

	if (!list)
		return note_kept(walk, errno);
	for (const struct dirent *entry; (entry = at_list_next(list));) {
		buf_addc(&walk->path, '/');
		buf_adds(&walk->path, entry->d_name);
		all = remove_name(walk, fd, entry->d_name, depth + 1) && all;
		buf_truncate(&walk->path, len);
	}
	return all;
}

static void walk_release(struct walk *walk)
{
	buf_release(&walk->path);
}

int removal_run(struct removal *removal, int dirfd, const char *name)
{
	owned(walk_release) struct walk walk = { .how = removal, .top = -1, .path = BUF_INIT };
	struct statx stx;
	int r = at_fd_stat(dirfd, &stx);

	if (r < 0)
		return r;
	walk.mnt_id = stx.stx_mnt_id;
	buf_adds(&walk.path, name);
	(void)remove_name(&walk, dirfd, name, 0);
	return walk.first;
}
