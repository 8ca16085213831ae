/*
 * Each plan that needs a stub holds a lock for it.  The plan that ends last removes the stub.  The
 * locks are on bytes of a file that no program of the sandbox can open.  A process that makes or
 * removes stubs holds the lock on the first byte.  Each path has a byte, at the offset of its hash.
 * If two paths have the same hash, both stubs stay until no plan needs either of them.
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
#include "sandbox/mountplaces.h"

#define BIT(kind) MOUNTPLACES_BIT(MOUNTPLAN_##kind)
#define STUBS (BIT(STUB) | BIT(STUB_FILE) | BIT(STUB_DOT))
#define DIR_MODE 0555 /* some programs fail if they cannot list a directory */
#define FILE_MODE 0444
#define WAY_MODE 0755

static bool make_file(int dir, const char *name, const char *text)
{
	if (mknodat(dir, name, S_IFREG | FILE_MODE, 0) < 0)
		return false;
	owned_fd int fd = *text ? at_name_open(dir, name, O_WRONLY | O_NONBLOCK) : -1;
	/* Without the text, git fails.  That is better than git using another repository. */
	if (fd >= 0)
		(void)at_write_all(fd, text, strlen(text));
	return true;
}

/*
 * Make a directory, or a file with this text.  Returns false with errno if the name cannot be made.
 * In that case programs cannot make the name either.
 */
static bool make_name(int dir, const char *name, bool is_dir, const char *text)
{
	return is_dir ? mkdirat(dir, name, DIR_MODE) == 0 : make_file(dir, name, text);
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

#define CHANGING 0 /* the byte that is locked while stubs are made or removed */

/*
 * Returns the byte of a path.  It is the 64-bit FNV-1a hash of the path, shifted by two bits so
 * that it fits into an offset.
 */
static off_t byte_of(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3;
	return (off_t)(hash >> 2) + 1;
}

/*
 * Lock or unlock a byte.  'type' is the l_type of struct flock.  If 'file' is -1, there are no
 * other plans, and nothing is locked.  Returns false if another plan holds the lock.
 */
static bool lock_byte(int file, off_t byte, short type, bool wait)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
	int r;

	if (file < 0)
		return true;
	do {
		r = fcntl(file, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	} while (r < 0 && errno == EINTR);
	return r == 0;
}

/* -------------------------------------------------------------------- making */

static int add_stub(
	struct mountplan_made *made, const struct mountplace *place, int *dir, struct err *err)
{
	owned_fd int fd = at_name_open(*dir, place->name, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return err_errno(err, "open '/%s'", place->path);
	if (!lock_byte(made->stub_locks, byte_of(place->path), F_RDLCK, true))
		return err_errno(err, "lock '/%s'", place->path);
	made->stubs[made->n_stubs++] = (struct mountplan_stub){
		.path = place->path,
		.dir = take_fd(dir),
		.fd = take_fd(&fd),
		.name = place->name,
		.is_dir = S_ISDIR(place->type),
	};
	return 0;
}

/* Make a missing place.  The directory that contains the place must exist. */
static int make_stub(
	struct mountplan_made *made, int root, struct mountplace *place, struct err *err)
{
	const bool leads_on = !(place->planned & STUBS);
	const bool is_dir = leads_on || !(place->planned & (BIT(STUB_FILE) | BIT(STUB_DOT)));
	const char *text = place->planned & BIT(STUB_DOT) ? STUB_DOT_TEXT : "";
	struct statx stx;
	owned_fd int dir = mountplaces_open(root, place->parent, err);

	if (dir < 0)
		return dir;
	int r = at_fd_stat(dir, &stx);
	if (r < 0)
		return err_number(err, -r, "look at '/%s'", place->parent->path);
	if (!make_name(dir, place->name, is_dir, text)) {
		if (errno == EROFS || errno == EACCES || errno == EPERM)
			return 0;
		return err_errno(err, "make '/%s', which shall not be made inside", place->path);
	}
	if (leads_on)
		open_up(dir, place->name, &stx);
	(void)stub_mark(dir, place->name);
	stub_keep_times(dir, &stx);
	place->type = is_dir ? S_IFDIR : S_IFREG;
	return add_stub(made, place, &dir, err);
}

/*
 * If an existing name is a stub of another plan, hold the lock for this plan, too, since the other
 * plan may end first.
 */
static int share_stub(
	struct mountplan_made *made, int root, struct mountplace *place, struct err *err)
{
	owned_fd int dir = mountplaces_open(root, place->parent, err);

	if (dir < 0)
		return dir;
	owned_fd int fd = at_name_open(dir, place->name, O_RDONLY | O_NONBLOCK);
	return fd >= 0 && is_marked(fd) ? add_stub(made, place, &dir, err) : 0;
}

/* Look up a place again, since other plans may have made or removed stubs after it was found. */
static int look_again(int root, struct mountplace *place, struct err *err)
{
	owned_fd int dir = mountplaces_open(root, place->parent, err);
	struct statx stx;

	if (dir < 0)
		return dir;
	place->type = at_name_stat(dir, place->name, &stx) == 0 ? stx.stx_mode & S_IFMT : 0;
	return 0;
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
	if (look_again(root, place, err) < 0)
		return -(int)err->code;
	return place->type ? share_stub(made, root, place, err) : make_stub(made, root, place, err);
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
	int r = 0;

	made->stubs = arena_alloc(&made->arena, count_places(places) * sizeof(*made->stubs));
	for (struct mountplace *one = places; one && r >= 0; one = mountplaces_next(one, places))
		if (needs_stub(one))
			r = hold_place(made, root, one, err);
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
	if (!lock_byte(made->stub_locks, CHANGING, F_WRLCK, true))
		return err_errno(err, "lock the list of stubs");
	int r = make_as_owner(made, root, err);
	(void)lock_byte(made->stub_locks, CHANGING, F_UNLCK, false);
	return r;
}

/* ------------------------------------------------------------------ removing */

/* Whether a stub is unchanged: no program has put a file or bytes into it. */
static bool is_untouched(const struct mountplan_stub *stub)
{
	struct statx named, opened;

	return at_name_stat(stub->dir, stub->name, &named) == 0 &&
	       at_fd_stat(stub->fd, &opened) == 0 && named.stx_ino == opened.stx_ino &&
	       (stub->is_dir || stub_has_size(&named));
}

static void remove_stub(const struct mountplan_stub *stub)
{
	if (!is_untouched(stub) ||
		unlinkat(stub->dir, stub->name, stub->is_dir ? AT_REMOVEDIR : 0) < 0)
		(void)fremovexattr(stub->fd, STUB_XATTR);
}

static bool are_siblings(const struct mountplan_stub *a, const struct mountplan_stub *b)
{
	size_t dir = strlen(a->path) - strlen(a->name);

	return dir == strlen(b->path) - strlen(b->name) && !memcmp(a->path, b->path, dir);
}

/*
 * The descriptors of the stubs stay open.  The file system frees a removed file when its last
 * descriptor is closed, and this function should not wait for that.
 */
void mountstub_remove_all(struct mountplan_made *made)
{
	if (made->stubs_removed)
		return;
	struct statx before;
	bool known = false;

	made->stubs_removed = true;
	(void)lock_byte(made->stub_locks, CHANGING, F_WRLCK, true);
	/* Go backwards, since a directory was made before its entries. */
	for (size_t i = made->n_stubs; i--;) {
		const struct mountplan_stub *stub = &made->stubs[i];
		off_t byte = byte_of(stub->path);

		/*
		 * Stubs of one directory mostly follow each other, so the directory's times are set
		 * back once.
		 */
		if (!known)
			known = at_fd_stat(stub->dir, &before) == 0;
		if (known && lock_byte(made->stub_locks, byte, F_WRLCK, false))
			remove_stub(stub);
		(void)lock_byte(made->stub_locks, byte, F_UNLCK, false);
		if (known && (!i || !are_siblings(stub, stub - 1))) {
			stub_keep_times(stub->dir, &before);
			known = false;
		}
	}
	(void)lock_byte(made->stub_locks, CHANGING, F_UNLCK, false);
}

void mountstub_close_all(struct mountplan_made *made)
{
	for (size_t i = 0; i < made->n_stubs; i++) {
		close_fd(&made->stubs[i].dir);
		close_fd(&made->stubs[i].fd);
	}
	made->n_stubs = 0;
}
