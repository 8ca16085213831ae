/*
 * Each plan that needs a stub holds it (core/stub.h), and the plan that ends last removes the stub.
 * Before a plan makes or removes stubs, it locks a file that no program of the sandbox can open.
 * So only one plan of an environment does this at a time.
 */
#include "sandbox/mountstub.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/at.h"
#include "core/fsids.h"
#include "core/own.h"
#include "core/stub.h"
#include "core/when.h"
#include "sandbox/mountplaces.h"

#define BIT(kind) MOUNTPLACES_BIT(MOUNTPLAN_##kind)
#define STUBS (BIT(STUB) | BIT(STUB_FILE) | BIT(STUB_DOT))
#define DIR_MODE 0555 /* some programs fail if they cannot list a directory */
#define FILE_MODE 0444
#define WAY_MODE 0755
#define NEW_NS (WHEN_SECOND / 5) /* a stub is marked within microseconds */
#define PAUSE_NS (5 * WHEN_MS)
#define TRIES_MAX 100 /* attempts to make a name that other plans make and remove */

static int open_name(int dir, const char *name)
{
	return at_name_open(dir, name, O_RDONLY | O_NONBLOCK);
}

static int make_directory(int dir, const char *name)
{
	if (mkdirat(dir, name, DIR_MODE) < 0)
		return -errno;
	int fd = open_name(dir, name);
	/* The name exists now.  Return an error that make_stub does not ignore. */
	return fd < 0 ? -EIO : fd;
}

static int make_file(int dir, const char *name, const char *text)
{
	const int access = *text ? O_RDWR : O_RDONLY;
	struct err why = { 0 };
	int fd = at_create(dir, name, access | O_EXCL | O_NONBLOCK, FILE_MODE, &why);

	if (fd < 0)
		return why.errno_value ? -why.errno_value : -EIO;
	/*
	 * If the text cannot be written, keep the file all the same: git then fails.  Without the
	 * file, git might use another repository, which is worse.
	 */
	if (*text)
		(void)at_write_all(fd, text, strlen(text));
	return fd;
}

/*
 * Set the owner and the mode of a directory that only leads to a stub, as if a program had made the
 * directory.  Programs may use it.
 */
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

/* --------------------------------------------------------------------- locks */

/*
 * Lock or unlock the file for changes.  'type' is the l_type of struct flock.  If 'file' is -1,
 * there are no other plans, and nothing is locked.
 */
static int lock_changes(int file, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };
	int r;

	if (file < 0)
		return 0;
	do {
		r = fcntl(file, F_OFD_SETLKW, &lock);
	} while (r < 0 && errno == EINTR);
	return r;
}

/* -------------------------------------------------------------------- making */

/* Returns the directory of a place, and opens it if this is the first stub there. */
static struct mountplan_stub_dir *enter_dir(
	struct mountplan_made *made, int root, const struct mountplace *dir, struct err *err)
{
	for (size_t i = made->n_stub_dirs; i--;)
		if (made->stub_dirs[i].place == dir)
			return &made->stub_dirs[i];
	int fd = mountplaces_open(root, dir, err);
	if (fd < 0)
		return NULL;
	struct mountplan_stub_dir *entered = &made->stub_dirs[made->n_stub_dirs++];
	*entered = (struct mountplan_stub_dir){ .place = dir, .fd = fd };
	return entered;
}

/* Read the times of a directory before its first change. */
static int begin_change(struct mountplan_stub_dir *dir)
{
	int r = dir->changed ? 0 : at_fd_stat(dir->fd, &dir->before);

	dir->changed = r == 0;
	return r;
}

/* Set back the times of all directories that were changed. */
static void end_changes(struct mountplan_made *made)
{
	for (size_t i = 0; i < made->n_stub_dirs; i++) {
		struct mountplan_stub_dir *dir = &made->stub_dirs[i];

		if (dir->changed)
			stub_keep_times(dir->fd, &dir->before);
		dir->changed = false;
	}
}

/*
 * Hold a stub and add it to the list.  The descriptor *fd is taken over.  Returns 1 if another plan
 * has removed the stub meanwhile.
 */
static int add_stub(struct mountplan_made *made, struct mountplan_stub_dir *dir,
	const struct mountplace *place, int *fd, struct err *err)
{
	int r = stub_hold(*fd);

	if (r < 0)
		return err_number(err, -r, "lock '/%s'", place->path);
	if (r > 0)
		return 1;
	made->stubs[made->n_stubs++] = (struct mountplan_stub){
		.path = place->path,
		.dir = dir,
		.fd = take_fd(fd),
		.name = place->name,
		.is_dir = S_ISDIR(place->type),
	};
	return 0;
}

/* Make a missing place.  Returns 1 if a file of that name has appeared meanwhile. */
static int make_stub(struct mountplan_made *made, struct mountplan_stub_dir *dir,
	struct mountplace *place, struct err *err)
{
	const bool leads_on = !(place->planned & STUBS);
	const bool is_dir = leads_on || !(place->planned & (BIT(STUB_FILE) | BIT(STUB_DOT)));
	const char *text = place->planned & BIT(STUB_DOT) ? STUB_DOT_TEXT : "";
	int r = begin_change(dir);

	if (r < 0)
		return err_number(err, -r, "look at '/%s'", dir->place->path);
	owned_fd int fd = is_dir ? make_directory(dir->fd, place->name)
				 : make_file(dir->fd, place->name, text);
	if (fd == -EEXIST)
		return 1;
	if (fd == -EROFS || fd == -EACCES || fd == -EPERM)
		return 0; /* programs cannot make the name either */
	if (fd < 0)
		return err_number(
			err, -fd, "make '/%s', which shall not be made inside", place->path);
	if (leads_on)
		open_up(dir->fd, place->name, &dir->before);
	(void)stub_mark(fd);
	place->type = is_dir ? S_IFDIR : S_IFREG;
	return add_stub(made, dir, place, &fd, err);
}

/*
 * Whether another plan may be about to mark a file as a stub: the file is new, and nobody may write
 * it.
 */
static bool is_being_made(int fd)
{
	struct statx stx;

	if (at_fd_stat(fd, &stx) < 0 || stx.stx_mode & 0222)
		return false;
	int64_t age = when_coarse() - (stx.stx_ctime.tv_sec * WHEN_SECOND + stx.stx_ctime.tv_nsec);
	return age < NEW_NS && age > -NEW_NS;
}

/*
 * If an existing name is a stub of another plan, hold the stub for this plan, too, since the other
 * plan may end first.  Returns 1 if this plan has to look at the name again, because the name has
 * gone or may become a stub.
 */
static int share_stub(struct mountplan_made *made, struct mountplan_stub_dir *dir,
	const struct mountplace *place, struct err *err)
{
	owned_fd int fd = open_name(dir->fd, place->name);

	if (fd == -ENOENT)
		return 1;
	if (fd >= 0 && is_marked(fd))
		return add_stub(made, dir, place, &fd, err);
	if (fd < 0 || !is_being_made(fd))
		return 0;
	when_pause(PAUSE_NS);
	return 1;
}

/* Look up a place again, since other plans may have made or removed stubs after it was found. */
static void look_again(const struct mountplan_stub_dir *dir, struct mountplace *place)
{
	struct statx stx;

	place->type = at_name_stat(dir->fd, place->name, &stx) == 0 ? stx.stx_mode & S_IFMT : 0;
}

/*
 * Make sure that a place exists and stays.  The directories that lead to the place are held as
 * well.
 */
static int hold_place(
	struct mountplan_made *made, int root, struct mountplace *place, struct err *err)
{
	if (!place->parent || place->held)
		return 0;
	place->held = true;
	if (hold_place(made, root, place->parent, err) < 0)
		return -(int)err->code;
	if (!S_ISDIR(place->parent->type))
		return 0;
	struct mountplan_stub_dir *dir = enter_dir(made, root, place->parent, err);
	if (!dir)
		return -(int)err->code;
	if (place->type)
		look_again(dir, place);
	for (int i = 0; i < TRIES_MAX; i++) {
		int r = place->type ? share_stub(made, dir, place, err)
				    : make_stub(made, dir, place, err);

		if (r <= 0)
			return r;
		look_again(dir, place);
	}
	return err_set(err, ERR_BUSY, "'/%s' is made and removed by other programs", place->path);
}

/* Whether a place needs a stub.  Where programs cannot write anyway, no stub is needed. */
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
	const size_t n = count_places(places);
	int r = 0;

	made->stubs = arena_alloc(&made->arena, n * sizeof(*made->stubs));
	made->stub_dirs = arena_alloc(&made->arena, n * sizeof(*made->stub_dirs));
	for (struct mountplace *one = places; one && r >= 0; one = mountplaces_next(one, places))
		if (needs_stub(one))
			r = hold_place(made, root, one, err);
	end_changes(made);
	mountplaces_decide(places);
	return r;
}

static int make_as_owner(struct mountplan_made *made, int root, struct err *err)
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

int mountstub_make(struct mountplan_made *made, int root, struct err *err)
{
	if (lock_changes(made->stub_locks, F_WRLCK) < 0)
		return err_errno(err, "lock the list of stubs");
	int r = make_as_owner(made, root, err);
	(void)lock_changes(made->stub_locks, F_UNLCK);
	return r;
}

/* ------------------------------------------------------------------ removing */

/* Whether a stub is unchanged: no program has put a file or bytes into it. */
static bool is_untouched(const struct mountplan_stub *stub)
{
	struct statx named, opened;

	return at_name_stat(stub->dir->fd, stub->name, &named) == 0 &&
	       at_fd_stat(stub->fd, &opened) == 0 && named.stx_ino == opened.stx_ino &&
	       (stub->is_dir || stub_has_size(&named));
}

static void remove_stub(const struct mountplan_stub *stub)
{
	if (!is_untouched(stub) ||
		unlinkat(stub->dir->fd, stub->name, stub->is_dir ? AT_REMOVEDIR : 0) < 0)
		(void)fremovexattr(stub->fd, STUB_XATTR);
}

/*
 * The descriptors of the stubs stay open.  The file system frees a removed file when its last
 * descriptor is closed, and this function should not wait for that.
 */
void mountstub_remove_all(struct mountplan_made *made)
{
	if (made->stubs_removed)
		return;
	made->stubs_removed = true;
	(void)lock_changes(made->stub_locks, F_WRLCK);
	/* Go backwards, since a directory was made before its entries. */
	for (size_t i = made->n_stubs; i--;) {
		const struct mountplan_stub *stub = &made->stubs[i];

		if (stub_claim(stub->fd) && begin_change(stub->dir) == 0)
			remove_stub(stub);
		stub_let_go(stub->fd);
	}
	end_changes(made);
	(void)lock_changes(made->stub_locks, F_UNLCK);
}

void mountstub_close_all(struct mountplan_made *made)
{
	for (size_t i = 0; i < made->n_stubs; i++)
		close_fd(&made->stubs[i].fd);
	for (size_t i = 0; i < made->n_stub_dirs; i++)
		close_fd(&made->stub_dirs[i].fd);
	made->n_stubs = made->n_stub_dirs = 0;
}
