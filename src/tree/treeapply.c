/*
 * The calling thread walks both trees and does everything that touches
 * directories; writing the content of plain files is given to threads.  A
 * directory's own attributes are set when its last job has ended, because
 * every creation in it moves its mtime.
 *
 * Hard links: an entry changes whenever its group does (entry.h), so all names of a
 * changed group come by.  The first becomes the group's anchor, the others are linked to it.
 */
#include "tree/treeapply.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/fsids.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/par.h"
#include "tree/content.h"
#include "tree/shifted.h"
#include "tree/treediff.h"
#include "tree/treepair.h"
#include "tree/xattrs.h"

#define TEMP_PREFIX ".strata-tmp-"
#define MOUNTED "left alone: another file system is mounted there"
#define KEPT "kept: what is there was never captured"
#define SYNC_EACH_MAX 64 /* more written files than this: one syncfs instead */

struct apply;

/* A live directory that jobs may be writing in. */
struct live_dir {
	struct apply *apply;
	int fd;
	atomic_int refs;
	atomic_bool touched; /* set the attributes at the end */
	struct entry want;   /* attributes; no strings */
	struct str path;
};

struct anchor {
	uint64_t group;
	char *dir; /* relative path of its directory */
	char *name;
};

struct apply {
	const struct treeapply_options *options;
	struct store *store;
	struct report *report;
	struct treeapply_progress *progress;
	struct par *par;
	struct buf path;
	uint64_t mnt_id;        /* of the live directory */
	struct anchor *anchors; /* open addressing by group */
	size_t n_anchors, cap_anchors;
	unsigned temp;
	_Atomic uint64_t written;
	pthread_mutex_t lock; /* of err */
	struct err err;       /* first fatal failure of a job */
	atomic_bool failed;
};

/* What is to be noted of a thing (applied.h). */
struct change {
	int64_t before;
	unsigned lacks;
};

/* A file to be written by a thread. */
struct job {
	struct live_dir *dir;
	struct entry entry;
	struct entry from; /* what was captured there, without strings */
	bool replace;      /* there is such a thing */
	unsigned temp;
	char name[ENTRY_NAME_MAX + 1];
};

static int apply_dir(struct apply *apply, struct live_dir *dir, const struct entry *from,
	const struct entry *to, struct err *err);

/* --------------------------------------------------------------- reporting */

static void report_at(
	struct live_dir *dir, const char *name, enum report_kind kind, const char *what, int error)
{
	struct buf path = BUF_INIT;

	buf_add(&path, dir->path.ptr, dir->path.len);
	if (path.len && *name)
		buf_addc(&path, '/');
	buf_adds(&path, name);
	errno = error;
	if (error)
		report_add(dir->apply->report, kind, (struct str){ path.data, path.len }, "%s: %m",
			what);
	else
		report_add(
			dir->apply->report, kind, (struct str){ path.data, path.len }, "%s", what);
	buf_release(&path);
}

/* A full disk or a broken one ends the whole; a thing this machine cannot do does not. */
static bool fatal(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS ||
	       error == ENOMEM || error == EMFILE || error == ENFILE;
}

/* Report a failure on one name, or fail: negative when fatal, else 0. */
static int failed_on(
	struct live_dir *dir, const char *name, const char *what, int error, struct err *err)
{
	if (fatal(error)) {
		errno = error;
		return err_errno(err, "%s '%s'", what, name);
	}
	report_at(dir, name, REPORT_UNRESTORED, what, error);
	return 0;
}

/* -------------------------------------------------------------- attributes */

static bool is_owned_by(const struct statx *now, const struct entry *want, uint32_t shift)
{
	return now->stx_uid == want->uid + shift && now->stx_gid == want->gid + shift;
}

static int set_owner(int dirfd, const char *name, const struct entry *want, uint32_t shift,
	const struct statx *now)
{
	uid_t uid = want->uid + shift;
	gid_t gid = want->gid + shift;

	if (is_owned_by(now, want, shift))
		return 0;
	if (fchownat(dirfd, name, uid, gid, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	int error = errno;
	/* Part of it may be ours to give. */
	if (now->stx_gid != gid)
		(void)!fchownat(dirfd, name, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW);
	return -error;
}

static bool attr_wanted(const struct buf *object, struct str name)
{
	struct xattrs_reader reader;
	struct xattr xattr;
	struct err ignored = { 0 };

	if (!object->len || xattrs_open(&reader, object->data, object->len, &ignored) < 0)
		return false;
	while (xattrs_next(&reader, &xattr, &ignored) > 0)
		if (str_eq(xattr.name, name))
			return true;
	return false;
}

static bool in_overlay(const struct live_dir *dir)
{
	return dir->apply->options->kind != TREEAPPLY_LIVE;
}

static bool in_layer(const struct live_dir *dir)
{
	return dir->apply->options->kind == TREEAPPLY_LAYER;
}

static void remove_unwanted(struct live_dir *dir, int dirfd, const char *name, const char *shown,
	const struct buf *want, unsigned *lacks)
{
	owned_mem char *names = mem_alloc(AT_XATTR_MAX);
	ssize_t n = at_xattr_list(dirfd, name, names, AT_XATTR_MAX);

	for (const char *attr = names; n > 0 && attr < names + n; attr += strlen(attr) + 1) {
		if (attr_wanted(want, str_of(attr)))
			continue;
		int r = at_xattr_remove(dirfd, name, attr);
		if (r >= 0 || r == -ENODATA)
			continue;
		report_at(dir, shown, REPORT_UNRESTORED, attr, -r);
		*lacks |= APPLIED_NO_XATTRS;
	}
}

static int set_xattrs(struct live_dir *dir, int dirfd, const char *name, const char *shown,
	const struct entry *entry, unsigned *lacks, struct err *err)
{
	owned(buf_release) struct buf want = { .max = XATTRS_BYTES_MAX };
	owned(buf_release) struct buf room = BUF_INIT;
	owned_mem char *now = NULL;
	struct xattrs_reader reader;
	struct xattr xattr;
	char list[8];
	int r;

	/* The common case: none wanted, none there. */
	if (hash_is_none(&entry->xattrs) && at_xattr_list(dirfd, name, list, sizeof(list)) == 0)
		return 0;
	if (!hash_is_none(&entry->xattrs)) {
		r = store_get(dir->apply->store, OBJECT_XATTRS, &entry->xattrs, &want, err);
		if (r >= 0)
			r = xattrs_open(&reader, want.data, want.len, err);
		if (r < 0)
			return r;
	}
	remove_unwanted(dir, dirfd, name, shown, &want, lacks);
	if (!want.len)
		return 0;
	now = mem_alloc(AT_XATTR_MAX);
	while ((r = xattrs_next(&reader, &xattr, err)) > 0) {
		char given[XATTRS_NAME_MAX + 1], escaped[XATTRS_NAME_MAX + 1];
		const char *attr = given;

		memcpy(given, xattr.name.ptr, xattr.name.len);
		given[xattr.name.len] = '\0';
		if (in_overlay(dir))
			attr = xattrs_escape(given, escaped);
		struct str value =
			shifted_value(xattr.name, xattr.value, dir->apply->options->shift, &room);
		ssize_t n = at_xattr_get(dirfd, name, attr, now, AT_XATTR_MAX);
		if (n >= 0 && str_eq((struct str){ now, (size_t)n }, value))
			continue;
		int set = at_xattr_set(dirfd, name, attr, value.ptr, value.len);
		if (set < 0)
			*lacks |= APPLIED_NO_XATTRS;
		/* What only root may set stays in the history, like an owner. */
		if (set == -EPERM)
			report_at(dir, shown, REPORT_LOGICAL, attr, EPERM);
		else if (set < 0)
			r = failed_on(dir, shown, attr, -set, err);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

/* "." of a directory we may not search can still be reached by its descriptor. */
static int stat_of(int dirfd, const char *name, struct statx *now)
{
	return strcmp(name, ".") ? at_name_stat(dirfd, name, now) : at_fd_stat(dirfd, now);
}

static int set_mode(int dirfd, const char *name, mode_t mode)
{
	int r = strcmp(name, ".") ? at_name_chmod(dirfd, name, mode) : 0;

	if (r < 0) {
		errno = -r;
		return -1;
	}
	return strcmp(name, ".") ? 0 : fchmod(dirfd, mode);
}

/* The kernel takes a bit off without a word where the group is none of ours. */
static bool has_mode(int dirfd, const char *name, mode_t mode)
{
	struct statx now;

	return stat_of(dirfd, name, &now) < 0 || (now.stx_mode & 07777) == mode;
}

static int make_mode(struct live_dir *dir, int dirfd, const char *name, const char *shown,
	const struct entry *want, struct change *changed, struct err *err)
{
	if (set_mode(dirfd, name, want->mode) == 0 && has_mode(dirfd, name, want->mode))
		return 0;
	/* Somebody else may have been faster once. */
	if (set_mode(dirfd, name, want->mode) == 0 && has_mode(dirfd, name, want->mode))
		return 0;
	changed->lacks |= APPLIED_NO_MODE;
	return set_mode(dirfd, name, want->mode) < 0 ? failed_on(dir, shown, "set mode", errno, err)
						     : 0;
}

/*
 * Owner first, since it clears setuid and capabilities; the mode last, since
 * without permission to write an ordinary user cannot set the rest (an ACL
 * refines the mode, but its mask is the mode's group bits already).
 * name is relative to dirfd; shown is what it is called in dir.  changed gets what is to be noted.
 */
static int set_attributes(struct live_dir *dir, int dirfd, const char *name, const char *shown,
	const struct entry *want, struct change *changed, struct err *err)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = want->mtime_sec, .tv_nsec = want->mtime_nsec },
	};
	struct statx now;
	int r = stat_of(dirfd, name, &now);

	if (r < 0)
		return failed_on(dir, shown, "stat", -r, err);
	changed->before = applied_ctime(&now);
	bool squashed = dir->apply->options->squashed;
	uint32_t shift = dir->apply->options->shift;
	int owner = squashed ? 0 : set_owner(dirfd, name, want, shift, &now);
	if (owner < 0) {
		report_at(dir, shown, REPORT_LOGICAL, "owner", -owner);
		changed->lacks |= APPLIED_NO_OWNER;
	}
	bool right = (now.stx_mode & 07777) == want->mode && hash_is_none(&want->xattrs) &&
		     (squashed || is_owned_by(&now, want, shift));
	if (geteuid() && want->type != ENTRY_LINK && !(now.stx_mode & 0200)) {
		(void)!set_mode(dirfd, name, (now.stx_mode & 07777) | 0700);
		right = false;
	}
	r = set_xattrs(dir, dirfd, name, shown, want, &changed->lacks, err);
	if (r >= 0 && utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		r = failed_on(dir, shown, "set mtime", errno, err);
	if (r >= 0 && want->type != ENTRY_LINK && !right)
		r = make_mode(dir, dirfd, name, shown, want, changed, err);
	return r;
}

/* --------------------------------------------------------------------- notes */

/* made: it is new, or a directory, so that nothing from before is left in it. */
static void note(
	struct live_dir *dir, const struct statx *now, const struct change *changed, bool made)
{
	struct applied *applied = dir->apply->options->applied;

	if (applied)
		applied_note(applied, now, made ? 0 : changed->before, changed->lacks);
}

/* The same of a name, unless it is another thing by now. */
static void note_name(struct live_dir *dir, const char *name, uint64_t ino,
	const struct change *changed, bool made)
{
	struct statx now;

	if (dir->apply->options->applied && at_name_stat(dir->fd, name, &now) == 0 &&
		now.stx_ino == ino)
		note(dir, &now, changed, made);
}

/* ------------------------------------------------------------- directories */

static void note_error(struct apply *apply, const struct err *err)
{
	pthread_mutex_lock(&apply->lock);
	if (!apply->err.code)
		apply->err = *err;
	pthread_mutex_unlock(&apply->lock);
	atomic_store(&apply->failed, true);
}

static void finish_dir(struct live_dir *dir)
{
	struct change changed = { 0 };
	struct err err = { 0 };
	struct statx now;

	if (set_attributes(dir, dir->fd, ".", "", &dir->want, &changed, &err) < 0)
		note_error(dir->apply, &err);
	else if (at_fd_stat(dir->fd, &now) == 0)
		note(dir, &now, &changed, true);
}

static void dir_done(struct live_dir *dir)
{
	if (atomic_fetch_sub(&dir->refs, 1) != 1)
		return;
	if (atomic_load(&dir->touched) && !atomic_load(&dir->apply->failed))
		finish_dir(dir);
	if (dir->apply->options->durable && atomic_load(&dir->touched) &&
		atomic_load(&dir->apply->written) <= SYNC_EACH_MAX)
		(void)fsync(dir->fd);
	close_fd(&dir->fd);
	free(dir);
}

static struct live_dir *dir_new_take(struct apply *apply, int fd, const struct entry *want)
{
	struct live_dir *dir = mem_zalloc(sizeof(*dir) + apply->path.len + 1);

	dir->apply = apply;
	dir->fd = fd;
	atomic_init(&dir->refs, 1);
	dir->want = *want;
	dir->want.name = dir->want.target = (struct str){ "", 0 };
	memcpy(dir + 1, apply->path.data ? apply->path.data : "", apply->path.len);
	dir->path = (struct str){ (char *)(dir + 1), apply->path.len };
	return dir;
}

/* Something in dir is about to change. */
static void touch(struct live_dir *dir)
{
	struct statx stx;

	if (atomic_exchange(&dir->touched, true))
		return;
	/* Our own directory without write permission: given for the moment, set right at the end.
	 */
	if (geteuid() && at_fd_stat(dir->fd, &stx) == 0 && (stx.stx_mode & 0300) != 0300)
		(void)fchmod(dir->fd, (stx.stx_mode & 07777) | 0700);
}

/* ------------------------------------------------------------------ removal */

/* Whether something is mounted over it, which is not of this tree; that is reported. */
static bool is_covered(struct live_dir *dir, const char *name)
{
	struct statx stx;

	if (at_name_stat(dir->fd, name, &stx) < 0 || stx.stx_mnt_id == dir->apply->mnt_id)
		return false;
	report_at(dir, name, REPORT_UNRESTORED, MOUNTED, 0);
	return true;
}

/* Whether the live thing is still what we captured; if not, it is not ours to remove or change. */
static bool still_same(int dirfd, const char *name, const struct entry *entry)
{
	struct statx stx;

	if (at_name_stat(dirfd, name, &stx) < 0)
		return true; /* gone: nothing to lose */
	enum entry_type type = entry_type_of(stx.stx_mode);
	bool stand_in = entry->type == ENTRY_CHAR || entry->type == ENTRY_BLOCK ||
			entry->content == ENTRY_UNREAD;
	/* A device that could not be made, or a file never captured: an empty file is no loss. */
	if (type == ENTRY_FILE && stand_in)
		return !stx.stx_size;
	if (type != entry->type)
		return false;
	if (type == ENTRY_FILE && stx.stx_size != entry->size)
		return false;
	if (type != ENTRY_FILE && type != ENTRY_LINK)
		return true;
	return stx.stx_mtime.tv_sec == entry->mtime_sec &&
	       stx.stx_mtime.tv_nsec == entry->mtime_nsec;
}

static int remove_entry(
	struct live_dir *dir, const char *name, const struct entry *entry, struct err *err);

static int remove_children(struct live_dir *dir, const struct entry *entry, struct err *err)
{
	struct treeiter *iter = mem_alloc(sizeof(*iter));
	char name[ENTRY_NAME_MAX + 1];
	struct entry child;
	int r;

	treeiter_init(iter, dir->apply->store);
	r = treeiter_open(iter, entry, err);
	while (r >= 0 && (r = treeiter_next(iter, &child, err)) > 0) {
		memcpy(name, child.name.ptr, child.name.len);
		name[child.name.len] = '\0';
		r = remove_entry(dir, name, &child, err);
	}
	treeiter_release(iter);
	free(iter);
	return r < 0 ? r : 0;
}

static int remove_dir(
	struct live_dir *dir, const char *name, const struct entry *entry, struct err *err)
{
	struct apply *apply = dir->apply;
	size_t len = apply->path.len;
	struct statx was;
	int r = at_name_stat(dir->fd, name, &was);
	int fd = r < 0 ? r : at_name_open(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

	if (fd == -EACCES && at_name_chmod(dir->fd, name, 0700) == 0)
		fd = at_name_open(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return failed_on(dir, name, "open", -fd, err);
	if (len)
		buf_addc(&apply->path, '/');
	buf_adds(&apply->path, name);
	struct live_dir *below = dir_new_take(apply, fd, entry);
	touch(below);
	r = remove_children(below, entry, err);
	/* Gone in a moment: no attributes to set. */
	atomic_store(&below->touched, false);
	dir_done(below);
	buf_truncate(&apply->path, len);
	if (r >= 0 && unlinkat(dir->fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
		if (errno == ENOTEMPTY || errno == EEXIST) {
			/* What stays keeps its mode, which we may have changed to get in. */
			(void)at_name_chmod(dir->fd, name, was.stx_mode & 07777);
			report_at(dir, name, REPORT_UNRESTORED,
				"kept: it holds files that are not in the history", 0);
		} else
			r = failed_on(dir, name, "remove directory", errno, err);
	}
	return r;
}

/* In a layer, this says that what lies below is gone. */
static int make_whiteout(struct live_dir *dir, const char *name, struct err *err)
{
	if (mknodat(dir->fd, name, S_IFCHR, makedev(0, 0)) < 0)
		return err_errno(err, "hide '%s'", name);
	return 0;
}

static int remove_entry(
	struct live_dir *dir, const char *name, const struct entry *entry, struct err *err)
{
	touch(dir);
	if (dir->apply->progress)
		atomic_fetch_add(&dir->apply->progress->entries, 1);
	if (in_layer(dir))
		return make_whiteout(dir, name, err);
	if (is_covered(dir, name))
		return 0;
	if (!still_same(dir->fd, name, entry)) {
		report_at(dir, name, REPORT_UNRESTORED, KEPT, 0);
		return 0;
	}
	if (entry->type == ENTRY_DIR)
		return remove_dir(dir, name, entry, err);
	if (unlinkat(dir->fd, name, 0) < 0 && errno != ENOENT)
		return failed_on(dir, name, "remove", errno, err);
	return 0;
}

/* ----------------------------------------------------------------- creation */

static void temp_name(char out[64], unsigned number)
{
	snprintf(out, 64, TEMP_PREFIX "%d-%u", (int)getpid(), number);
}

/* Clone from the donor if its file is the one that was captured; false: take it from the store. */
static bool clone_content(struct live_dir *dir, const char *name, const struct entry *entry, int fd)
{
	struct err ignored = { 0 };
	struct statx stx;
	owned(buf_release) struct buf path = BUF_INIT;

	if (dir->apply->options->donor < 0 || !entry->size)
		return false;
	buf_add(&path, dir->path.ptr, dir->path.len);
	if (path.len)
		buf_addc(&path, '/');
	buf_adds(&path, name);
	owned_fd int donor = at_open(dir->apply->options->donor, path.data,
		O_RDONLY | O_NONBLOCK | O_NOFOLLOW, &ignored);
	if (donor < 0 || at_fd_stat(donor, &stx) < 0 || !S_ISREG(stx.stx_mode) ||
		stx.stx_size != entry->size || stx.stx_mtime.tv_sec != entry->mtime_sec ||
		stx.stx_mtime.tv_nsec != entry->mtime_nsec)
		return false;
	return ioctl(fd, FICLONE, donor) == 0;
}

/* Create an empty file to fill, with its mode if the umask lets it: that saves setting it. */
static int create_file(int dirfd, const char *name, uint32_t mode)
{
	struct err err = { 0 };
	int fd = at_create(dirfd, name, O_WRONLY | O_EXCL | O_NOFOLLOW, mode & 0777, &err);

	if (fd < 0)
		return err.errno_value ? -err.errno_value : -EIO;
	return fd;
}

/* What is there now came after the capture: nobody has a copy of it. */
static int kept_newcomer(struct live_dir *dir, const char *name)
{
	report_at(dir, name, REPORT_UNRESTORED, KEPT, 0);
	return 0;
}

static int into_free_place(
	struct live_dir *dir, const char *temporary, const char *name, struct err *err)
{
	int r = renameat2(dir->fd, temporary, dir->fd, name, RENAME_NOREPLACE);
	struct statx stx;

	/* Not every file system knows the flag. */
	if (r < 0 && errno == EINVAL && at_name_stat(dir->fd, name, &stx) == -ENOENT)
		r = renameat(dir->fd, temporary, dir->fd, name);
	if (r == 0)
		return 1;
	int error = errno;
	(void)unlinkat(dir->fd, temporary, 0);
	if (error == EEXIST || error == EINVAL)
		return kept_newcomer(dir, name);
	return failed_on(dir, name, "rename into place", error, err);
}

/* What was taken out of its place under the temporary name came after the capture. */
static int give_back(struct live_dir *dir, const char *temporary, const char *name, uint64_t made)
{
	struct statx stx;

	if (renameat2(dir->fd, temporary, dir->fd, name, RENAME_EXCHANGE) < 0)
		(void)renameat2(dir->fd, temporary, dir->fd, name, RENAME_NOREPLACE);
	else if (at_name_stat(dir->fd, temporary, &stx) == 0 && stx.stx_ino == made)
		(void)unlinkat(dir->fd, temporary, 0);
	return kept_newcomer(dir, name);
}

/*
 * Give a thing made under a temporary name its own.  from: what was captured there, NULL: nothing.
 * Content was written and synced since that was looked at last, so the two change places, and what
 * comes out is looked at once more: nobody can reach it by its name any longer.  1 done, 0 not.
 */
static int into_place(struct live_dir *dir, const char *temporary, const char *name,
	const struct entry *from, struct err *err)
{
	struct statx made;
	int r = from ? at_name_stat(dir->fd, temporary, &made) : 0;

	if (!from)
		return into_free_place(dir, temporary, name, err);
	if (r == 0 && renameat2(dir->fd, temporary, dir->fd, name, RENAME_EXCHANGE) < 0)
		r = -errno;
	if (r == 0 && !still_same(dir->fd, temporary, from))
		return give_back(dir, temporary, name, made.stx_ino);
	if (r == -ENOENT)
		return into_free_place(dir, temporary, name, err);
	/* Not every file system knows the flag. */
	if (r == -EINVAL && still_same(dir->fd, name, from))
		r = renameat(dir->fd, temporary, dir->fd, name) < 0 ? -errno : 0;
	/* What stays under that name would look like somebody's work. */
	if (unlinkat(dir->fd, temporary, 0) < 0 && errno != ENOENT && r == 0)
		return failed_on(dir, name, "remove what it replaces", errno, err);
	if (r == -EINVAL)
		return kept_newcomer(dir, name);
	return r < 0 ? failed_on(dir, name, "rename into place", -r, err) : 1;
}

/* 1 the file is there, 0 it is not and why is reported. */
static int write_file(struct live_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, unsigned temp, struct err *err)
{
	struct apply *apply = dir->apply;
	struct change changed = { 0 };
	char temporary[64];
	struct statx now;
	int r = 0;

	temp_name(temporary, temp);
	const char *made = from ? temporary : name;
	if (from)
		(void)unlinkat(dir->fd, temporary, 0); /* left by a run that died */
	owned_fd int fd = create_file(dir->fd, made, entry->mode);
	if (fd == -EEXIST && !from)
		return kept_newcomer(dir, name);
	if (fd < 0)
		return failed_on(dir, name, "create", -fd, err);
	if (entry->content != ENTRY_UNREAD && !clone_content(dir, name, entry, fd))
		r = content_write(apply->store, entry, fd, err);
	if (r < 0 && err->code == ERR_CORRUPT) {
		report_at(dir, name, REPORT_DAMAGED, err->text, 0);
		(void)unlinkat(dir->fd, made, 0);
		return 0;
	}
	if (r >= 0)
		r = set_attributes(dir, dir->fd, made, name, entry, &changed, err);
	uint64_t written = atomic_fetch_add(&apply->written, 1) + 1;
	if (r >= 0 && apply->options->durable && written <= SYNC_EACH_MAX && fsync(fd) < 0)
		r = err_errno(err, "sync '%s'", name);
	if (r < 0)
		(void)unlinkat(dir->fd, made, 0);
	else
		r = from ? into_place(dir, made, name, from, err) : 1;
	if (r > 0 && at_fd_stat(fd, &now) == 0)
		note(dir, &now, &changed, true);
	if (apply->progress) {
		atomic_fetch_add(&apply->progress->entries, 1);
		atomic_fetch_add(&apply->progress->bytes, entry->size);
	}
	return r;
}

static void run_job(void *arg)
{
	struct job *job = arg;
	struct err err = { 0 };

	if (!atomic_load(&job->dir->apply->failed) &&
		write_file(job->dir, job->name, job->replace ? &job->from : NULL, &job->entry,
			job->temp, &err) < 0)
		note_error(job->dir->apply, &err);
	dir_done(job->dir);
	free(job);
}

static void submit_file(
	struct live_dir *dir, const char *name, const struct entry *from, const struct entry *entry)
{
	struct job *job = mem_zalloc(sizeof(*job));

	job->dir = dir;
	job->entry = *entry;
	job->entry.name = job->entry.target = (struct str){ "", 0 };
	job->replace = from != NULL;
	if (from)
		job->from = *from;
	job->from.name = job->from.target = (struct str){ "", 0 };
	job->temp = dir->apply->temp++;
	snprintf(job->name, sizeof(job->name), "%s", name);
	atomic_fetch_add(&dir->refs, 1);
	par_submit(dir->apply->par, run_job, job);
}

/* A device we may not make becomes an empty file that stands in for it (windex_override). */
static int make_special(
	struct live_dir *dir, const char *name, const struct entry *entry, unsigned *lacks)
{
	mode_t mode = entry_type_mode(entry->type) | 0600;
	dev_t dev = makedev(entry->major, entry->minor);

	if (mknodat(dir->fd, name, mode, dev) == 0)
		return 0;
	if (errno != EPERM || (entry->type != ENTRY_CHAR && entry->type != ENTRY_BLOCK))
		return -errno;
	int fd = create_file(dir->fd, name, entry->mode);
	if (fd < 0)
		return fd;
	close(fd);
	report_at(dir, name, REPORT_LOGICAL, "device node, an empty file stands in for it", EPERM);
	*lacks |= APPLIED_NO_TYPE;
	return 0;
}

/* In a layer such a device says that there is nothing: so it does for programs that look for it. */
static void report_unshown(struct live_dir *dir, const char *name, const struct entry *entry)
{
	if (dir->apply->options->kind != TREEAPPLY_LIVE && entry->type == ENTRY_CHAR &&
		!entry->major && !entry->minor)
		report_at(dir, name, REPORT_UNRESTORED,
			"a character device 0:0, which an overlay takes for a deleted file; it is "
			"kept in the history",
			0);
}

/* Links and special files: made under a temporary name, then renamed.  1 done, 0 reported. */
static int make_small(struct live_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err)
{
	struct change changed = { 0 };
	char temporary[64];
	struct statx now = { 0 };
	int r = 0;

	temp_name(temporary, dir->apply->temp++);
	(void)unlinkat(dir->fd, temporary, 0);
	if (entry->type == ENTRY_LINK) {
		owned_mem char *target = mem_dup(entry->target.ptr, entry->target.len);

		if (symlinkat(target, dir->fd, temporary) < 0)
			r = -errno;
	} else {
		report_unshown(dir, name, entry);
		r = make_special(dir, temporary, entry, &changed.lacks);
	}
	if (r < 0)
		return failed_on(dir, name, "create", -r, err);
	r = set_attributes(dir, dir->fd, temporary, name, entry, &changed, err);
	(void)at_name_stat(dir->fd, temporary, &now);
	if (r < 0)
		(void)unlinkat(dir->fd, temporary, 0);
	else
		r = into_place(dir, temporary, name, from, err);
	if (r > 0)
		note_name(dir, name, now.stx_ino, &changed, true);
	if (dir->apply->progress)
		atomic_fetch_add(&dir->apply->progress->entries, 1);
	return r;
}

/* --------------------------------------------------------------- hard links */

static struct anchor *anchor_slot(struct apply *apply, uint64_t group)
{
	size_t mask = apply->cap_anchors - 1;
	size_t i = group & mask;

	while (apply->anchors[i].group && apply->anchors[i].group != group)
		i = (i + 1) & mask;
	return &apply->anchors[i];
}

static void anchor_add(struct apply *apply, uint64_t group, struct str dir, const char *name)
{
	if (2 * (apply->n_anchors + 1) > apply->cap_anchors) {
		struct anchor *old = apply->anchors;
		size_t old_cap = apply->cap_anchors;

		apply->cap_anchors = old_cap ? 2 * old_cap : 64;
		apply->anchors = mem_zalloc(apply->cap_anchors * sizeof(*apply->anchors));
		for (size_t i = 0; i < old_cap; i++)
			if (old[i].group)
				*anchor_slot(apply, old[i].group) = old[i];
		free(old);
	}
	struct anchor *anchor = anchor_slot(apply, group);
	/* The one before takes no more links, or is gone. */
	apply->n_anchors += !anchor->group;
	free(anchor->dir);
	free(anchor->name);
	*anchor = (struct anchor){
		.group = group,
		.dir = mem_dup(dir.ptr, dir.len),
		.name = mem_strdup(name),
	};
}

/* Link name to the group's anchor: 1 done, 0 there is none (yet) that can be used. */
static int link_to_anchor(struct live_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err)
{
	struct apply *apply = dir->apply;
	struct err ignored = { 0 };
	struct statx a, b;
	char temporary[64];

	if (!apply->n_anchors)
		return 0;
	struct anchor *anchor = anchor_slot(apply, entry->link);
	if (!anchor->group)
		return 0;
	owned_fd int fd = at_open(apply->options->fd, *anchor->dir ? anchor->dir : ".",
		O_PATH | O_DIRECTORY, &ignored);
	if (fd < 0 || at_name_stat(fd, anchor->name, &a) < 0)
		return 0;
	if (at_name_stat(dir->fd, name, &b) == 0 && a.stx_ino == b.stx_ino)
		return 1;
	temp_name(temporary, apply->temp++);
	(void)unlinkat(dir->fd, temporary, 0);
	if (linkat(fd, anchor->name, dir->fd, temporary, 0) < 0) {
		if (errno == EMLINK || errno == EPERM || errno == EXDEV) {
			report_at(dir, name, REPORT_UNRESTORED, "hard link", errno);
			return 0;
		}
		return failed_on(dir, name, "link", errno, err) < 0 ? -(int)err->code : 1;
	}
	int r = into_place(dir, temporary, name, from, err);
	if (r > 0)
		note_name(dir, name, a.stx_ino, &(struct change){ .before = applied_ctime(&a) },
			false);
	return r < 0 ? r : 1;
}

/* ------------------------------------------------------------------ entries */

/* A tree from elsewhere may have a directory where the environment lies. */
static bool leave_alone(const struct apply *apply, int fd)
{
	const struct scan_skip *skip = apply->options->skip;
	struct statx stx;

	return skip && at_fd_stat(fd, &stx) == 0 && stx.stx_ino == skip->ino &&
	       stx.stx_dev_major == skip->dev_major && stx.stx_dev_minor == skip->dev_minor;
}

static int make_dir(struct live_dir *dir, const char *name, const struct entry *entry,
	const struct entry *from, struct err *err)
{
	struct apply *apply = dir->apply;
	size_t len = apply->path.len;
	int r;

	if ((!from || in_layer(dir)) && mkdirat(dir->fd, name, 0700) < 0 && errno != EEXIST)
		return failed_on(dir, name, "create directory", errno, err);
	int fd = at_name_open(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd == -EACCES && at_name_chmod(dir->fd, name, 0700) == 0)
		fd = at_name_open(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0)
		return failed_on(dir, name, "open", -fd, err);
	if (!from && !in_layer(dir) && is_covered(dir, name)) {
		close(fd);
		return 0;
	}
	if (leave_alone(apply, fd)) {
		close(fd);
		report_at(dir, name, REPORT_UNRESTORED, "the environment itself is there", 0);
		return 0;
	}
	if (len)
		buf_addc(&apply->path, '/');
	buf_adds(&apply->path, name);
	struct live_dir *below = dir_new_take(apply, fd, entry);
	if (!from || in_layer(dir) || treediff_compare(from, entry))
		touch(below);
	r = apply_dir(apply, below, from, entry, err);
	dir_done(below);
	buf_truncate(&apply->path, len);
	if (apply->progress)
		atomic_fetch_add(&apply->progress->entries, 1);
	return r;
}

/* from: what is there now and may be replaced, or NULL. */
static int make_entry(struct live_dir *dir, const char *name, const struct entry *from,
	const struct entry *to, struct err *err)
{
	touch(dir);
	if (to->content == ENTRY_UNREAD) {
		report_at(dir, name, REPORT_UNRESTORED,
			"its content could not be read when it was captured", 0);
		/* Better the content of another moment than none. */
		if (from)
			return 0;
	}
	if (to->type == ENTRY_DIR)
		return make_dir(dir, name, to, NULL, err);
	if (to->link) {
		int r = link_to_anchor(dir, name, from, to, err);

		if (r != 0)
			return r < 0 ? r : 0;
		/* Others will be linked to it: it must be there before they come. */
		r = to->type == ENTRY_FILE
			    ? write_file(dir, name, from, to, dir->apply->temp++, err)
			    : make_small(dir, name, from, to, err);
		if (r > 0)
			anchor_add(dir->apply, to->link, dir->path, name);
		return r < 0 ? r : 0;
	}
	if (to->type != ENTRY_FILE) {
		int r = make_small(dir, name, from, to, err);

		return r < 0 ? r : 0;
	}
	submit_file(dir, name, from, to);
	return 0;
}

static int change_attributes(
	struct live_dir *dir, const char *name, const struct entry *to, struct err *err)
{
	struct change changed = { 0 };
	struct statx now;
	int r = set_attributes(dir, dir->fd, name, name, to, &changed, err);

	if (r >= 0 && at_name_stat(dir->fd, name, &now) == 0)
		note(dir, &now, &changed, false);
	return r;
}

static int change_entry(struct live_dir *dir, const char *name, const struct entry *from,
	const struct entry *to, struct err *err)
{
	int r;

	if (!in_layer(dir) && is_covered(dir, name))
		return 0;
	if (from->type == ENTRY_DIR && to->type == ENTRY_DIR) {
		/* What could not be read then or now is not to be emptied. */
		if (from->content == ENTRY_UNREAD || to->content == ENTRY_UNREAD) {
			report_at(dir, name, REPORT_UNRESTORED,
				"left as it is: its entries could not be read when it was captured",
				0);
			return 0;
		}
		return make_dir(dir, name, to, from, err);
	}
	if (in_layer(dir))
		return to->content == ENTRY_UNREAD ? 0 : make_entry(dir, name, NULL, to, err);
	if (from->type != to->type) {
		r = remove_entry(dir, name, from, err);
		return r < 0 ? r : make_entry(dir, name, NULL, to, err);
	}
	bool attributes = entry_same_content(from, to) && from->link == to->link &&
			  to->content != ENTRY_UNREAD;
	/* Hard-linked names share the inode, which may already have got its attributes. */
	if (!still_same(dir->fd, name, from) &&
		!(attributes && to->link && still_same(dir->fd, name, to))) {
		report_at(dir, name, REPORT_UNRESTORED, KEPT, 0);
		return 0;
	}
	if (attributes) {
		if (dir->apply->progress)
			atomic_fetch_add(&dir->apply->progress->entries, 1);
		return change_attributes(dir, name, to, err);
	}
	return make_entry(dir, name, from, to, err);
}

static int apply_dir(struct apply *apply, struct live_dir *dir, const struct entry *from,
	const struct entry *to, struct err *err)
{
	struct treepair *pair = mem_alloc(sizeof(*pair));
	char name[ENTRY_NAME_MAX + 1];
	const struct entry *a, *b;
	int r;

	treepair_init(pair, apply->store);
	r = treepair_open(pair, from, to, err);
	while (r >= 0 && (r = treepair_next(pair, &a, &b, err)) > 0) {
		struct str text = a ? a->name : b->name;

		memcpy(name, text.ptr, text.len);
		name[text.len] = '\0';
		if (!b)
			r = remove_entry(dir, name, a, err);
		else if (!a)
			r = make_entry(dir, name, NULL, b, err);
		else
			r = change_entry(dir, name, a, b, err);
		if (atomic_load(&apply->failed))
			break;
	}
	treepair_release(pair);
	free(pair);
	return r < 0 ? r : 0;
}

/* --------------------------------------------------------------------- all */

static int apply_roots(struct apply *apply, struct err *err)
{
	const struct treeapply_options *options = apply->options;
	struct treeiter *iter = mem_alloc(sizeof(*iter));
	struct entry from, to;
	int r;

	treeiter_init(iter, apply->store);
	r = treeiter_root(iter, options->to, &to, err);
	if (r >= 0 && options->from)
		r = treeiter_root(iter, options->from, &from, err);
	treeiter_release(iter);
	free(iter);
	if (r < 0)
		return r;
	int fd = fcntl(options->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(err, "open the live tree");
	struct statx stx;
	r = at_fd_stat(fd, &stx);
	if (r < 0) {
		close_fd(&fd);
		errno = -r;
		return err_errno(err, "look at the live tree");
	}
	apply->mnt_id = stx.stx_mnt_id;
	struct live_dir *root = dir_new_take(apply, fd, &to);
	if (!options->from || options->kind == TREEAPPLY_LAYER || treediff_compare(&from, &to))
		touch(root);
	r = apply_dir(apply, root, options->from ? &from : NULL, &to, err);
	dir_done(root);
	return r;
}

static int apply_all(const struct treeapply_options *options, struct err *err)
{
	struct apply apply = {
		.options = options,
		.store = options->store,
		.report = options->report,
		.progress = options->progress,
		.path = BUF_INIT,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int r;

	if (options->kind != TREEAPPLY_LAYER && options->from &&
		hash_eq(options->from, options->to))
		return 0;
	apply.par = par_new(par_cpus());
	store_reading_begin(options->store);
	r = apply_roots(&apply, err);
	par_free(apply.par);
	store_reading_end(options->store);
	if (r >= 0 && apply.err.code) {
		*err = apply.err;
		r = -(int)err->code;
	}
	if (r >= 0 && options->durable && apply.written > SYNC_EACH_MAX && syncfs(options->fd) < 0)
		r = err_errno(err, "sync the live tree");
	for (size_t i = 0; i < apply.cap_anchors; i++) {
		free(apply.anchors[i].dir);
		free(apply.anchors[i].name);
	}
	free(apply.anchors);
	buf_release(&apply.path);
	return r;
}

int treeapply_run(const struct treeapply_options *options, struct err *err)
{
	struct err lost = { 0 };
	struct fsids before;

	if (!options->shift)
		return apply_all(options, err);
	int r = fsids_take(options->shift, options->shift, &before, err);
	if (r < 0)
		return r;
	r = apply_all(options, err);
	if (fsids_give_back(&before, &lost) < 0 && r >= 0) {
		*err = lost;
		return -(int)err->code;
	}
	return r;
}
