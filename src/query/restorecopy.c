#include "query/restorecopy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "query/keytable.h"
#include "query/restorestage.h"
#include "query/walk.h"
#include "tree/xattrs.h"

/*
 * A directory that is being filled.  Its attributes are set after all its entries have been copied.
 */
struct level {
	size_t path_len; /* length of its path in copying.path */
	struct entry want;
};

struct copying {
	struct view *view;
	size_t base_len; /* length of the path of the copied directory in the view, with a slash */
	int top;         /* descriptor of the copy of the whole directory */
	struct buf path; /* path, in the view, of the innermost directory that is being filled */
	struct level *levels;
	size_t n_levels, cap_levels;
	int here; /* descriptor of the copy of that innermost directory; -1: not open */
	struct keytable by_group;
	struct str *anchors; /* for each group of hard links, the first name that was copied */
	size_t n_anchors, cap_anchors;
	struct arena arena; /* holds the texts of anchors */
	unsigned lacks;
};

const char *restorecopy_lack_name(unsigned bit)
{
	static const char *const names[RESTORECOPY_LACKS] = { "owner", "xattrs", "mode" };

	return names[__builtin_ctz(bit)];
}

/* ------------------------------------------------------------------- attributes */

/* Whether an errno means that this process or this file system cannot set an attribute. */
static bool is_not_permitted(int error)
{
	return error == EPERM || error == EACCES || error == ENOTSUP || error == EINVAL;
}

/* Set the owner and the group of a file.  Returns true if the file now has both. */
static bool set_owner(int dir, const char *name, const struct entry *want)
{
	struct statx now;

	if (at_name_stat(dir, name, &now) == 0 && now.stx_uid == want->uid &&
		now.stx_gid == want->gid)
		return true;
	if (fchownat(dir, name, want->uid, want->gid, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	(void)!fchownat(dir, name, (uid_t)-1, want->gid, AT_SYMLINK_NOFOLLOW);
	return false;
}

/*
 * Remove the ACLs that the new file has inherited from its directory.  Other inherited attributes
 * are labels, which the system gives to each file, so they stay.
 */
static void remove_inherited(int dir, const char *name)
{
	owned_mem char *names = mem_alloc(AT_XATTR_MAX);
	ssize_t n = at_xattr_list(dir, name, names, AT_XATTR_MAX);

	for (const char *attr = names; n > 0 && attr < names + n; attr += strlen(attr) + 1)
		if (str_starts(str_of(attr), STR("system.posix_acl_")))
			(void)at_xattr_remove(dir, name, attr);
}

static int set_xattrs(struct copying *copying, struct str path, const struct entry *want, int dir,
	const char *name, struct err *err)
{
	owned(buf_release) struct buf encoded = { .max = XATTRS_BYTES_MAX };
	struct xattrs_reader reader;
	struct xattr xattr;
	char attr[XATTRS_NAME_MAX + 1];

	remove_inherited(dir, name);
	int r = copying->view->ops->xattrs(copying->view, want, path, &encoded, err);
	if (r < 0 || !encoded.len)
		return r;
	r = xattrs_open(&reader, encoded.data, encoded.len, err);
	while (r >= 0 && (r = xattrs_next(&reader, &xattr, err)) > 0) {
		memcpy(attr, xattr.name.ptr, xattr.name.len);
		attr[xattr.name.len] = '\0';
		int set = at_xattr_set(dir, name, attr, xattr.value.ptr, xattr.value.len);
		if (set < 0 && is_not_permitted(-set))
			copying->lacks |= RESTORECOPY_NO_XATTRS;
		else if (set < 0)
			r = restorestage_failed(err, -set, "set an attribute of the copy of", path);
	}
	return r;
}

static int set_mode(struct copying *copying, struct str path, const struct entry *want,
	bool owned_right, int dir, const char *name, struct err *err)
{
	mode_t mode = want->mode;
	struct statx now;

	/*
	 * If the file does not have the wanted owner, the setuid and setgid bits would let other
	 * users act as its present owner.
	 */
	if (want->type == ENTRY_FILE && !owned_right)
		mode &= ~(mode_t)(S_ISUID | S_ISGID);
	int r = at_name_chmod(dir, name, mode);
	if (r < 0 && !is_not_permitted(-r))
		return restorestage_failed(err, -r, "set the mode of the copy of", path);
	/* The kernel silently clears the setgid bit if this process is not in the group. */
	if (at_name_stat(dir, name, &now) == 0 && (now.stx_mode & 07777) != want->mode)
		copying->lacks |= RESTORECOPY_NO_MODE;
	return 0;
}

/*
 * Set the attributes of a new file or directory.  path is its path in the view.  The owner is set
 * first, since a change of the owner clears setuid and capabilities.  The mode is set last, since
 * with this mode the process may not be allowed to write the file or enter the directory.
 */
static int set_attributes(struct copying *copying, struct str path, const struct entry *want,
	int dir, const char *name, struct err *err)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = want->mtime_sec, .tv_nsec = want->mtime_nsec },
	};
	bool owned_right = set_owner(dir, name, want);

	if (!owned_right)
		copying->lacks |= RESTORECOPY_NO_OWNER;
	int r = set_xattrs(copying, path, want, dir, name, err);
	if (r >= 0 && utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		r = restorestage_failed(err, errno, "set the time of the copy of", path);
	if (r >= 0 && want->type != ENTRY_LINK)
		r = set_mode(copying, path, want, owned_right, dir, name, err);
	return r;
}

/* ------------------------------------------------------------------ single files */

struct writing {
	int fd;
	struct str path; /* path in the view */
	uint64_t size;
};

static int write_piece(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct writing *writing = arg;
	int r = bytes ? at_pwrite_all(writing->fd, bytes, len, writing->size) : 0;

	if (r < 0)
		return restorestage_failed(err, -r, "write the copy of", writing->path);
	writing->size += len;
	return 0;
}

static int refuse_entry(struct str path, const char *why, struct err *err)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	text_quote(&shown, path.len ? path : STR("/"));
	return err_set(err, ERR_DENIED, "'%.200s' of the snapshot %s", shown.data ?: "", why);
}

/* Write the content of a file into a new file.  Returns the descriptor of the new file. */
static int write_file(struct copying *copying, struct str path, const struct entry *entry, int dir,
	const char *name, struct err *err)
{
	if (entry->content == ENTRY_UNREAD)
		return refuse_entry(path, "could not be read when it was captured", err);
	struct err why = { 0 };
	owned_fd int fd = at_create(dir, name, O_WRONLY | O_EXCL | O_NOFOLLOW, 0600, &why);
	struct writing writing = { .fd = fd, .path = path };
	if (fd < 0)
		return restorestage_failed(
			err, why.errno_value ?: ENOENT, "make the copy of", path);
	copying->view->holes = true;
	int r = copying->view->ops->read(
		copying->view, entry, path, 0, UINT64_MAX, write_piece, &writing, err);
	if (r < 0)
		return r;
	if (writing.size != entry->size)
		return refuse_entry(path, "changed while it was read", err);
	/* A hole at the end of a file is not written, so set the size. */
	if (ftruncate(fd, (off_t)writing.size) < 0)
		return restorestage_failed(err, errno, "set the size of the copy of", path);
	return take_fd(&fd);
}

/* Make a symlink or a special file. */
static int make_small(
	struct str path, const struct entry *entry, int dir, const char *name, struct err *err)
{
	owned_mem char *target = mem_dup(entry->target.ptr, entry->target.len);
	mode_t mode = entry_type_mode(entry->type) | 0600;
	int r;

	switch (entry->type) {
	case ENTRY_LINK:
		r = symlinkat(target, dir, name);
		break;
	case ENTRY_FIFO:
	case ENTRY_SOCKET:
	case ENTRY_CHAR:
	case ENTRY_BLOCK:
		r = mknodat(dir, name, mode, makedev(entry->major, entry->minor));
		break;
	default:
		return refuse_entry(path, "cannot be read", err);
	}
	return r < 0 ? restorestage_failed(err, errno, "make the copy of", path) : 0;
}

/* ------------------------------------------------------------------- directories */

/* Returns the path of an entry of the view, relative to the directory that is copied. */
static struct str relative(const struct copying *copying, struct str path)
{
	if (path.len <= copying->base_len)
		return STR("");
	return (struct str){ path.ptr + copying->base_len, path.len - copying->base_len };
}

/* Open the copy of a directory.  The copy is not a symlink, since this process has made it. */
static int open_copied(const struct copying *copying, struct str path, struct err *err)
{
	struct str rest = relative(copying, path);
	owned_mem char *name =
		rest.len ? mem_printf("%.*s", (int)rest.len, rest.ptr) : mem_strdup(".");

	return at_open(copying->top, name, O_RDONLY | O_DIRECTORY, err);
}

/* Set the attributes of the innermost directory that is being filled, and leave it. */
static int leave_level(struct copying *copying, struct err *err)
{
	const struct level *level = &copying->levels[copying->n_levels - 1];
	struct str path = { copying->path.data, level->path_len };

	close_fd(&copying->here);
	owned_fd int dir = open_copied(copying, path, err);
	int r = dir < 0 ? dir : set_attributes(copying, path, &level->want, dir, ".", err);
	copying->n_levels--;
	if (r >= 0 && copying->n_levels)
		buf_truncate(&copying->path, copying->levels[copying->n_levels - 1].path_len);
	return r;
}

static void enter_level(struct copying *copying, struct str path, const struct entry *dir)
{
	mem_grow(&copying->levels, &copying->cap_levels, copying->n_levels);
	copying->levels[copying->n_levels++] = (struct level){ path.len, *dir };
	buf_clear(&copying->path);
	buf_add(&copying->path, path.ptr, path.len);
	close_fd(&copying->here);
}

/*
 * Leave directories until the innermost one is the parent of the next entry.  Returns a descriptor
 * of the parent's copy.
 */
static int enter_parent(struct copying *copying, struct str parent, struct err *err)
{
	while (copying->levels[copying->n_levels - 1].path_len > parent.len ||
		!str_eq((struct str){ copying->path.data, copying->path.len }, parent)) {
		int r = copying->n_levels > 1 ? leave_level(copying, err)
					      : err_set(err, ERR_INVALID, "entries out of order");

		if (r < 0)
			return r;
	}
	if (copying->here < 0)
		copying->here = open_copied(copying, parent, err);
	return copying->here;
}

/*
 * If a name of the same file was copied before, make the new name a link to that copy and return 1.
 * Otherwise return 0.
 */
static int link_to_anchor(struct copying *copying, struct str path, const struct entry *entry,
	int dir, const char *name, struct err *err)
{
	bool made;

	if (!entry->link)
		return 0;
	uint32_t anchor =
		*keytable_at(&copying->by_group, entry->link, (uint32_t)copying->n_anchors, &made);
	if (made) {
		mem_grow(&copying->anchors, &copying->cap_anchors, copying->n_anchors);
		copying->anchors[copying->n_anchors++] =
			arena_str(&copying->arena, relative(copying, path));
		return 0;
	}
	const char *first = copying->anchors[anchor].ptr, *slash = strrchr(first, '/');
	owned_mem char *parent =
		slash ? mem_printf("%.*s", (int)(slash - first), first) : mem_strdup(".");
	owned_fd int from = at_open(copying->top, parent, O_PATH | O_DIRECTORY, err);
	if (from < 0)
		return from;
	return linkat(from, slash ? slash + 1 : first, dir, name, 0) < 0
		       ? restorestage_failed(err, errno, "link the copy of", path)
		       : 1;
}

static int copy_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct copying *copying = arg;
	const char *slash = memrchr(path.ptr, '/', path.len);
	struct str parent = { path.ptr, slash ? (size_t)(slash - path.ptr) : 0 };
	owned_mem char *name = mem_printf("%.*s", (int)entry->name.len, entry->name.ptr);
	int dir = enter_parent(copying, parent, err);

	if (dir < 0)
		return dir;
	if (entry->type == ENTRY_DIR) {
		if (entry->content == ENTRY_UNREAD)
			return refuse_entry(path, "could not be read when it was captured", err);
		if (mkdirat(dir, name, 0700) < 0)
			return restorestage_failed(err, errno, "make the copy of", path);
		enter_level(copying, path, entry);
		return 0;
	}
	int r = link_to_anchor(copying, path, entry, dir, name, err);
	if (r != 0)
		return r < 0 ? r : 0;
	if (entry->type == ENTRY_FILE) {
		owned_fd int fd = write_file(copying, path, entry, dir, name, err);

		r = fd < 0 ? fd : 0;
	} else {
		r = make_small(path, entry, dir, name, err);
	}
	return r < 0 ? r : set_attributes(copying, path, entry, dir, name, err);
}

static int copy_dir(struct copying *copying, struct str path, const struct entry *entry, int dir,
	const char *name, struct err *err)
{
	if (mkdirat(dir, name, 0700) < 0)
		return restorestage_failed(err, errno, "make the copy of", path);
	copying->top = at_open(dir, name, O_RDONLY | O_DIRECTORY, err);
	if (copying->top < 0)
		return copying->top;
	copying->base_len = path.len ? path.len + 1 : 0;
	enter_level(copying, path, entry);
	uint64_t unread = copying->view->unread;
	int r = walk_tree(copying->view, path, copy_entry, copying, err);
	while (r >= 0 && copying->n_levels)
		r = leave_level(copying, err);
	if (r >= 0 && copying->view->unread != unread)
		r = refuse_entry(path, "has directories that cannot be read", err);
	/* One sync of the file system takes less time than one for each file. */
	if (r >= 0 && syncfs(copying->top) < 0)
		r = restorestage_failed(err, errno, "sync the copy of", path);
	return r;
}

static int copy_file(struct copying *copying, struct str path, const struct entry *entry, int dir,
	const char *name, struct err *err)
{
	owned_fd int fd = write_file(copying, path, entry, dir, name, err);
	int r = fd < 0 ? fd : set_attributes(copying, path, entry, dir, name, err);

	if (r >= 0 && fsync(fd) < 0)
		r = restorestage_failed(err, errno, "sync the copy of", path);
	return r;
}

static void free_copying(struct copying *copying)
{
	close_fd(&copying->top);
	close_fd(&copying->here);
	buf_release(&copying->path);
	free(copying->levels);
	keytable_release(&copying->by_group);
	free(copying->anchors);
	arena_release(&copying->arena);
}

int restorecopy_run(struct view *view, struct str path, const struct entry *entry, int dir,
	const char *name, unsigned *lacks, struct err *err)
{
	owned(free_copying) struct copying copying = {
		.view = view,
		.top = -1,
		.here = -1,
		.path = BUF_INIT,
	};
	int r = entry->type == ENTRY_DIR ? copy_dir(&copying, path, entry, dir, name, err)
					 : copy_file(&copying, path, entry, dir, name, err);

	*lacks = copying.lacks;
	return r;
}
