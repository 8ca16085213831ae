#include "sandbox/mountproof.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "core/at.h"
#include "core/own.h"

static int fail(const struct mountplace *place, const char *what, struct err *err)
{
	return err_set(err, ERR_SYSTEM, "the policy does not hold: '/%s' %s", place->path, what);
}

/*
 * Find the id of the mount that fd lies in.  *begins becomes true if fd is the root of this mount.
 */
static int find_mount(int fd, uint64_t *id, bool *begins, struct err *err)
{
	struct statx stx;

	/* Do not ask the file system itself, since it may be a mask that no process serves yet. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stx) < 0)
		return err_errno(err, "look at a mount");
	*id = stx.stx_mnt_id;
	*begins = stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return 0;
}

/*
 * Check that a place has a mount of its own.  This mount hides the place, or keeps it from being
 * renamed and removed.
 */
static int prove_mount(const struct mountplace *place, int dir, int fd, struct err *err)
{
	uint64_t above, here;
	bool begins;

	if (find_mount(dir, &above, &begins, err) < 0 || find_mount(fd, &here, &begins, err) < 0)
		return -(int)err->code;
	if (begins && above != here)
		return 0;
	return fail(place, place->hidden ? "is not hidden" : "can be renamed", err);
}

static bool may_be_writable(const struct mountplace *place)
{
	for (size_t i = 0; i < MOUNTPLACES_KEPT; i++)
		if (mountplaces_within(place->path, mountplaces_kept[i]))
			return true;
	return false;
}

static int prove_flags(const struct mountplace *place, int fd, struct err *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return err_errno(err, "look at the mount of '/%s'", place->path);
	if (place->read_only && !(fs.f_flags & ST_RDONLY) && !may_be_writable(place))
		return fail(place, "can be written", err);
	if (place->no_exec && !(fs.f_flags & ST_NOEXEC))
		return fail(place, "can be executed", err);
	return 0;
}

static int prove_place(
	const struct mountplace *place, struct mountplaces_walk *walk, struct err *err)
{
	int dir = mountplaces_enter(walk, place->parent ? place->parent : place, err);

	if (dir < 0)
		return dir;
	if (!place->parent)
		return place->hidden ? 0 : prove_flags(place, dir, err);
	owned_fd int fd = at_name_open(dir, place->name, O_PATH);
	if (fd < 0)
		return fail(place, "cannot be looked at", err);
	if (place->mounted && prove_mount(place, dir, fd, err) < 0)
		return -(int)err->code;
	return place->hidden || S_ISLNK(place->type) ? 0 : prove_flags(place, fd, err);
}

/* Whether a place exists and no directory above it is hidden. */
static bool is_seen(const struct mountplace *place)
{
	for (const struct mountplace *dir = place->parent; dir; dir = dir->parent)
		if (dir->hidden)
			return false;
	return place->type;
}

int mountproof_run(struct mountplace *places, int root, struct err *err)
{
	owned(mountplaces_leave) struct mountplaces_walk walk = MOUNTPLACES_WALK(root);
	int r = 0;

	for (struct mountplace *one = places; one && r >= 0; one = mountplaces_next(one, places))
		if (is_seen(one))
			r = prove_place(one, &walk, err);
	return r;
}
