/*
 * Each plan that needs a stub holds a lock on it.  The last one to end removes it.
 */
#include "sandbox/mountstub.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/at.h"
#include "core/fsids.h"
#include "core/own.h"
#include "core/stub.h"
#include "sandbox/mountplaces.h"

#define BIT(kind) MOUNTPLACES_BIT(MOUNTPLAN_##kind)
#define STUBS (BIT(STUB) | BIT(STUB_FILE))
#define DIR_MODE 0555 /* programs fail that cannot read the names they look for */
#define FILE_MODE 0444
#define WAY_MODE 0755

/* Returns whether the name is there now, and was not before: else programs cannot make it either.
 */
static bool make_name(int dir, const char *name, bool is_dir)
{
	return (is_dir ? mkdirat(dir, name, DIR_MODE)
		       : mknodat(dir, name, S_IFREG | FILE_MODE, 0)) == 0;
}

/* A directory that only leads to a stub is for programs to use, as they would make it. */
static void open_up(int dir, const char *name, const struct statx *above)
{
	(void)!fchownat(dir, name, above->stx_uid, above->stx_gid, AT_SYMLINK_NOFOLLOW);
	(void)at_name_chmod(dir, name, above->stx_mode & WAY_MODE);
}

static bool is_marked(int fd)
{
	char value[8];

	return fgetxattr(fd, STUB_XATTR, value, sizeof(value)) > 0;
}

/* Whether the name still leads to the open file. */
static bool is_still(int dir, const char *name, int fd)
{
	struct statx named, opened;

	return at_name_stat(dir, name, &named) == 0 && at_fd_stat(fd, &opened) == 0 &&
	       named.stx_ino == opened.stx_ino;
}

/*
 * Open a stub and lock it, so that other plans leave it alone.  Returns -1 if it is none, or if
 * another plan has just removed it.
 */
static int lock_stub(int dir, const char *name, bool is_new)
{
	owned_fd int fd = at_name_open(dir, name, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (is_new)
		(void)stub_mark(dir, name);
	if ((!is_new && !is_marked(fd)) || flock(fd, LOCK_SH) < 0 || !is_still(dir, name, fd))
		return -1;
	return take_fd(&fd);
}

static void add_stub(struct mountplan_made *made, const struct mountplace *place, int *dir, int *fd)
{
	made->stubs[made->n_stubs++] = (struct mountplan_stub){
		.path = place->path,
		.dir = take_fd(dir),
		.fd = take_fd(fd),
		.name = place->name,
		.is_dir = S_ISDIR(place->type),
	};
}

/* Make a place that is missing, and the directories that it lies in. */
static int make_stub(struct mountplan_made *made, int root, struct mountplace *place, bool is_dir,
	struct err *err)
{
	struct mountplace *parent = place->parent;
	struct statx stx;

	if (!parent->type && make_stub(made, root, parent, true, err) < 0)
		return -(int)err->code;
	if (!S_ISDIR(parent->type))
		return 0;
	owned_fd int dir = mountplaces_open(root, parent, err);
	if (dir < 0)
		return dir;
	int r = at_fd_stat(dir, &stx);
	if (r < 0)
		return err_number(err, -r, "look at '/%s'", parent->path);
	if (!make_name(dir, place->name, is_dir)) {
		if (errno == EROFS || errno == EACCES || errno == EPERM)
			return 0;
		if (errno != EEXIST)
			return err_errno(
				err, "make '/%s', which shall not be made inside", place->path);
	}
	if (!(place->planned & STUBS))
		open_up(dir, place->name, &stx);
	place->type = is_dir ? S_IFDIR : S_IFREG;
	owned_fd int fd = lock_stub(dir, place->name, true);
	if (fd < 0)
		return err_set(err, ERR_BUSY, "'/%s' is being changed", place->path);
	stub_keep_times(dir, &stx);
	add_stub(made, place, &dir, &fd);
	return 0;
}

/* A stub of another plan, which may end before this one.  Returns 1 if it is one. */
static int share_stub(
	struct mountplan_made *made, int root, struct mountplace *place, struct err *err)
{
	owned_fd int dir = mountplaces_open(root, place->parent, err);
	owned_fd int fd = dir < 0 ? -1 : lock_stub(dir, place->name, false);

	if (fd >= 0)
		add_stub(made, place, &dir, &fd);
	else if (dir >= 0 && !at_exists(dir, place->name))
		place->type = 0;
	return dir < 0 ? dir : 0;
}

/* Nothing can be made where programs may not write anyway. */
static bool needs_stub(const struct mountplace *place)
{
	const struct mountplace *dir = place->parent;

	if (!dir || !(place->planned & STUBS))
		return false;
	while (!dir->type)
		dir = dir->parent;
	return !dir->hidden && !dir->read_only;
}

static size_t count_places(struct mountplace *root)
{
	size_t n = 0;

	for (struct mountplace *one = root; one; one = mountplaces_next(one, root))
		n++;
	return n;
}

static int make_stubs(struct mountplan_made *made, int root, struct err *err)
{
	struct mountplace *places = made->places;
	int r = 0;

	made->stubs = arena_alloc(&made->arena, count_places(places) * sizeof(*made->stubs));
	for (struct mountplace *one = places; one && r >= 0; one = mountplaces_next(one, places)) {
		if (!needs_stub(one))
			continue;
		if (one->type)
			r = share_stub(made, root, one, err);
		if (r >= 0 && !one->type)
			r = make_stub(made, root, one, !(one->planned & BIT(STUB_FILE)), err);
	}
	mountplaces_decide(places);
	return r;
}

int mountstub_make(struct mountplan_made *made, int root, struct err *err)
{
	struct fsids before;
	struct err lost = { 0 };

	if (!made->owner)
		return make_stubs(made, root, err);
	if (fsids_take(made->owner, made->owner, &before, err) < 0)
		return -(int)err->code;
	int r = make_stubs(made, root, err);
	if (fsids_give_back(&before, &lost) < 0 && r >= 0) {
		*err = lost;
		r = -(int)err->code;
	}
	return r;
}

/* Whether a stub is as it was made.  A file that is not empty is somebody's. */
static bool is_untouched(const struct mountplan_stub *stub)
{
	struct statx stx;

	return is_still(stub->dir, stub->name, stub->fd) && at_fd_stat(stub->fd, &stx) == 0 &&
	       (stub->is_dir || stx.stx_size == 0);
}

void mountstub_remove(const struct mountplan_stub *stub)
{
	struct statx stx;

	if (flock(stub->fd, LOCK_EX | LOCK_NB) < 0 || at_fd_stat(stub->dir, &stx) < 0)
		return;
	if (is_untouched(stub) &&
		unlinkat(stub->dir, stub->name, stub->is_dir ? AT_REMOVEDIR : 0) == 0)
		stub_keep_times(stub->dir, &stx);
	else
		(void)fremovexattr(stub->fd, STUB_XATTR);
}

void mountstub_close(struct mountplan_stub *stub)
{
	close_fd(&stub->dir);
	close_fd(&stub->fd);
}
