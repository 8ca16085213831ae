#include "query/dirview.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/resolve.h"
#include "core/when.h"
#include "query/dirnames.h"
#include "query/fileprint.h"
#include "tree/xattrs.h"

#define BATCH_MAX 256 /* entries whose attributes are read before they are visited */
/*
 * The time that a file system records for a change may be too early by this much, since some file
 * systems keep whole seconds.
 */
#define CLOCK_LAG (2 * WHEN_SECOND)

struct dirview {
	struct view view;
	int root;
	struct dirview_options options;
	/*
	 * The directory that was used last stays open, because most requests are about the same
	 * directory as the previous request.
	 */
	int kept;
	char *kept_path;
	struct statx root_stat;
	/* The device that tells_inodes has seen last, and the result of stores_inodes for it. */
	uint64_t device;
	bool has_inodes;
};

static struct dirview *dirview_of(struct view *view)
{
	return (struct dirview *)view; /* the view is the first member of struct dirview */
}

/*
 * Returns a copy of path without slashes at its end, or NULL if no file of the view can have this
 * path.  Only the last component is compared with ".." here, since at_open checks the others.
 */
static char *copy_path(struct str path)
{
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	if (path.len && memchr(path.ptr, '\0', path.len))
		return NULL;
	if (path.len >= 2 && !memcmp(path.ptr + path.len - 2, "..", 2) &&
		(path.len == 2 || path.ptr[path.len - 3] == '/'))
		return NULL;
	char *copy = mem_zalloc(path.len + 1);
	if (path.len)
		memcpy(copy, path.ptr, path.len);
	return copy;
}

/*
 * Whether an error of at_open means that the path does not exist, or that it leads through a
 * symlink.
 */
static bool is_missing(const struct err *err)
{
	if (err->code == ERR_SYSTEM)
		return err->errno_value == ENOENT || err->errno_value == ENOTDIR ||
		       err->errno_value == ELOOP || err->errno_value == ENAMETOOLONG;
	return err->code == ERR_NOT_FOUND || err->code == ERR_DENIED;
}

/*
 * Change the error of at_open to ERR_DENIED if it means that a file was removed or may not be read.
 * Other errors are failures of the provider, and stay as they are.  Returns the error.
 */
static int refuse(struct err *err)
{
	if (is_missing(err) || (err->code == ERR_SYSTEM && err->errno_value == EACCES)) {
		err->code = ERR_DENIED;
		err->errno_value = 0;
	}
	return -(int)err->code;
}

static int open_beneath(struct dirview *self, const char *path, int flags, struct err *err)
{
	int fd = at_open(self->root, *path ? path : ".", flags, err);

	return fd >= 0 ? fd : refuse(err);
}

/*
 * Whether a file is outside the snapshot: in another subvolume or another mount.  Only a view with
 * shared inodes knows this, because all of its files are on the device of its root.
 */
static bool is_outside(const struct dirview *self, const struct statx *stx)
{
	return self->options.shared_inodes &&
	       (self->root_stat.stx_dev_major != stx->stx_dev_major ||
		       self->root_stat.stx_dev_minor != stx->stx_dev_minor);
}

static bool is_open_outside(const struct dirview *self, int fd)
{
	struct statx stx;

	return self->options.shared_inodes && at_fd_stat(fd, &stx) >= 0 && is_outside(self, &stx);
}

/* Store dir as the open directory at path, and return it.  dir and path are taken over. */
static int keep_directory(struct dirview *self, char *path, int dir)
{
	close_fd(&self->kept);
	free(self->kept_path);
	self->kept = dir;
	self->kept_path = path;
	return dir;
}

static bool is_kept(const struct dirview *self, const char *path)
{
	return self->kept_path && !strcmp(self->kept_path, path);
}

/*
 * Returns a descriptor of the directory at path, or a negative error of at_open.  The descriptor is
 * valid until another directory is opened.
 */
static int open_directory(struct dirview *self, const char *path, struct err *err)
{
	if (!*path)
		return self->root;
	if (is_kept(self, path))
		return self->kept;
	owned_fd int dir = at_open(self->root, path, O_PATH | O_DIRECTORY, err);
	if (dir >= 0 && is_open_outside(self, dir))
		return err_set(err, ERR_NOT_FOUND, "'%.200s' is outside the snapshot", path);
	return dir < 0 ? dir : keep_directory(self, mem_strdup(path), take_fd(&dir));
}

static char *copy_start(const char *path, size_t len)
{
	char *copy = mem_alloc(len + 1);

	memcpy(copy, path, len);
	copy[len] = '\0';
	return copy;
}

/* As open_directory, for the directory that contains path.  *name becomes the last name in path. */
static int open_parent(struct dirview *self, const char *path, const char **name, struct err *err)
{
	const char *slash = strrchr(path, '/');

	*name = slash ? slash + 1 : path;
	if (!slash)
		return self->root;
	owned_mem char *parent = copy_start(path, (size_t)(slash - path));
	return open_directory(self, parent, err);
}

/* Open the file at path, which may be of any type.  A symlink is not followed. */
static int open_entry(struct dirview *self, const char *path, int flags, struct err *err)
{
	const char *name;

	if (!*path)
		return open_beneath(self, path, flags, err);
	int dir = open_parent(self, path, &name, err);
	if (dir < 0)
		return refuse(err);
	int fd = at_name_open(dir, name, flags);
	if (fd >= 0)
		return fd;
	err_number(err, -fd, "open '%.200s'", path);
	return refuse(err);
}

/* -------------------------------------------------------------------- entries */

struct reading {
	const struct dirview_options *options;
	enum view_need need;
};

static struct reading reading_of(const struct dirview *self)
{
	return (struct reading){ &self->options, self->view.need };
}

static void fill_entry(
	struct reading how, const struct statx *stx, struct str name, struct entry *entry)
{
	*entry = (struct entry){
		.name = name,
		.target = { "", 0 },
		.type = entry_type_of(stx->stx_mode),
		.mode = stx->stx_mode & 07777,
		.uid = stx->stx_uid,
		.gid = stx->stx_gid,
		.mtime_sec = stx->stx_mtime.tv_sec,
		.mtime_nsec = stx->stx_mtime.tv_nsec,
		.major = stx->stx_rdev_major,
		.minor = stx->stx_rdev_minor,
	};
	if (entry->type == ENTRY_DIR)
		entry->content = ENTRY_TREE;
	if (entry->type != ENTRY_FILE || !stx->stx_size)
		return;
	entry->size = stx->stx_size;
	entry->content = ENTRY_BLOB;
	if (how.need == VIEW_ALL || how.need == VIEW_BRIEF)
		fileprint_of(stx, !how.options->shared_inodes, &entry->hash);
}

/*
 * Read the target of a symlink.  Returns an empty text if the symlink was removed or changed
 * meanwhile.
 */
static struct str read_target(int dir, const char *name, struct arena *arena)
{
	char target[ENTRY_TARGET_MAX + 1];
	ssize_t n = at_name_readlink(dir, name, target, sizeof(target));

	return n < 0 ? STR("") : arena_str(arena, (struct str){ target, (size_t)n });
}

/*
 * Read the attributes of the entry with this name.  Returns 1, or 0 if the entry does not exist any
 * more.
 */
static int read_entry(
	struct reading how, int dir, const char *name, struct arena *arena, struct entry *entry)
{
	struct statx stx;
	int r = at_name_stat(dir, name, &stx);

	if (r == -ENOENT || r == -ENAMETOOLONG)
		return 0;
	if (r < 0) {
		*entry = (struct entry){ .name = str_of(name), .target = { "", 0 } };
		return 1;
	}
	fill_entry(how, &stx, str_of(name), entry);
	if (entry->type == ENTRY_LINK)
		entry->target = read_target(dir, name, arena);
	return 1;
}

static int stat_root(struct dirview *self, struct entry *entry, struct err *err)
{
	struct statx stx;
	int r = at_fd_stat(self->root, &stx);

	if (r < 0)
		return err_number(err, -r, "read the attributes of the snapshot's root");
	fill_entry(reading_of(self), &stx, STR(""), entry);
	return 1;
}

/* Like read_entry, but attributes that cannot be read are an error. */
static int find_entry(struct reading how, int dir, const char *name, struct arena *arena,
	struct entry *entry, struct err *err)
{
	int r = read_entry(how, dir, name, arena, entry);

	if (r > 0 && !entry->type)
		return err_set(err, ERR_DENIED, "the attributes of '%.100s' cannot be read", name);
	return r;
}

static int view_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err)
{
	struct dirview *self = dirview_of(view);
	owned_mem char *copy = copy_path(path);
	struct err why = { 0 };
	const char *name;

	if (!copy)
		return 0;
	if (!*copy)
		return stat_root(self, entry, err);
	int dir = open_parent(self, copy, &name, &why);
	if (dir < 0 && is_missing(&why))
		return 0;
	if (dir < 0) {
		*err = why;
		return refuse(err);
	}
	return find_entry(reading_of(self), dir, arena_strdup(arena, name), arena, entry, err);
}

int dirview_entry(const struct dirview_options *options, int dir, const char *name,
	struct arena *arena, struct entry *entry, struct err *err)
{
	return find_entry((struct reading){ options, VIEW_ALL }, dir, name, arena, entry, err);
}

/* -------------------------------------------------------- listing directories */

struct batch {
	struct entry *entries;
	size_t n;
	struct arena arena; /* the targets of symlinks */
};

static void free_batch(struct batch *batch)
{
	free(batch->entries);
	arena_release(&batch->arena);
}

/* How a directory is listed. */
struct listing {
	enum view_need need;
	uint64_t device; /* device of the directory; set only with VIEW_BRIEF */
};

/*
 * Set an entry from a name and from the directory's record of this name, without reading
 * attributes.  Returns false if the caller of the view needs more than the record has, or if the
 * record has no type.
 */
static bool entry_of_record(struct listing how, const char *name, struct entry *entry)
{
	unsigned char type = dirnames_type(name);
	bool brief = how.need >= VIEW_BRIEF && type == DT_REG;

	if (type == DT_UNKNOWN || !(brief || how.need == VIEW_NAMES))
		return false;
	*entry = (struct entry){
		.name = str_of(name),
		.target = { "", 0 },
		.type = entry_type_of(DTTOIF(type)),
		.brief = brief,
	};
	if (how.need == VIEW_BRIEF)
		fileprint_of_inode(how.device, dirnames_inode(name), &entry->hash);
	if (entry->type == ENTRY_DIR)
		entry->content = ENTRY_TREE;
	return true;
}

static void read_batch(const struct dirview *self, int dir, const struct dirnames *names,
	struct listing how, size_t from, struct batch *batch)
{
	arena_release(&batch->arena);
	batch->n = 0;
	for (size_t i = from; i < names->n && i < from + BATCH_MAX; i++) {
		const char *name = names->list[i].text;
		struct entry *entry = &batch->entries[batch->n];

		if (entry_of_record(how, name, entry))
			batch->n++;
		else
			batch->n += (size_t)read_entry(
				reading_of(self), dir, name, &batch->arena, entry);
	}
}

static int visit_batch(const struct batch *batch, view_visit visit, void *arg, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < batch->n; i++)
		r = visit(arg, &batch->entries[i], err);
	return r;
}

/* Whether a directory is on a file system whose records have the inode numbers of the files. */
static bool stores_inodes(int dir)
{
	static const uint32_t types[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC, TMPFS_MAGIC };
	struct statfs fs;

	if (fstatfs(dir, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((uint32_t)fs.f_type == types[i])
			return true;
	return false;
}

/*
 * Whether the inode number in a record of a directory identifies the file.  This is not so if the
 * number means another file in another view.  It is also not so if the directory has changed since
 * view.begun, because a new file may then have the number of a deleted file.
 */
static bool tells_inodes(struct dirview *self, int dir, struct listing *how)
{
	struct statx stx;

	if (self->options.shared_inodes || at_fd_stat(dir, &stx) < 0)
		return false;
	how->device = (uint64_t)stx.stx_dev_major << 32 | stx.stx_dev_minor;
	if (how->device != self->device) {
		self->device = how->device;
		self->has_inodes = stores_inodes(dir);
	}
	int64_t before = self->view.begun - CLOCK_LAG;
	return self->has_inodes && when_of(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec) < before &&
	       when_of(stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec) < before;
}

/*
 * Open a directory to list it, and keep it open.  If the directory above it is not open, the kernel
 * walks the whole path in one call.
 */
static int open_listed(struct dirview *self, const char *path, bool *outside, struct err *err)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
	const char *slash = strrchr(path, '/');
	size_t above = slash ? (size_t)(slash - path) : 0;
	bool near = above && self->kept_path && strlen(self->kept_path) == above &&
		    !memcmp(self->kept_path, path, above);
	owned_fd int fd =
		near ? open_entry(self, path, flags, err) : open_beneath(self, path, flags, err);

	*outside = fd >= 0 && is_open_outside(self, fd);
	return fd < 0 || *outside ? fd : keep_directory(self, mem_strdup(path), take_fd(&fd));
}

/*
 * List a directory in batches.  While the entries of a batch are visited, the directory need not
 * stay open: if 'visit' opens another directory, only that directory is kept open.  So a walk of
 * deep directories does not run out of descriptors.
 */
static int view_list(struct view *view, const struct entry *dir, struct str path, view_visit visit,
	void *arg, struct err *err)
{
	struct dirview *self = dirview_of(view);
	owned(dirnames_release) struct dirnames names = { .records = BUF_INIT };
	struct listing how = { .need = view->need };
	owned(free_batch) struct batch batch = { 0 };
	owned_mem char *name = copy_path(path);

	if (!name)
		return err_set(err, ERR_DENIED, "no such directory");
	bool outside;
	int fd = open_listed(self, name, &outside, err);
	if (outside)
		return 0;
	int r = fd < 0 ? fd : dirnames_read(&names, fd, name, err);
	if (r < 0)
		return r;
	if (how.need == VIEW_BRIEF && !tells_inodes(self, fd, &how))
		how.need = VIEW_ALL;
	size_t room = names.n < BATCH_MAX ? names.n : BATCH_MAX;
	batch.entries = mem_alloc((room + 1) * sizeof(*batch.entries));
	for (size_t from = 0; r == 0 && from < names.n; from += BATCH_MAX) {
		if (from)
			fd = open_directory(self, name, err);
		if (fd < 0)
			return refuse(err);
		read_batch(self, fd, &names, how, from, &batch);
		r = visit_batch(&batch, visit, arg, err);
	}
	return r < 0 ? r : 0;
}

/* -------------------------------------------------------------- reading files */

static int stat_regular(int fd, const char *path, struct statx *stx, struct err *err)
{
	int r = at_fd_stat(fd, stx);

	if (r < 0)
		return err_number(err, -r, "read the attributes of '%.200s'", path);
	return S_ISREG(stx->stx_mode)
		       ? 0
		       : err_set(err, ERR_DENIED, "'%.200s' is not a regular file", path);
}

/*
 * Open a regular file.  Its type is checked before it is opened, since opening a FIFO would block,
 * and opening a device may change it.  Without /proc, the path has to be looked up a second time.
 * A FIFO may be at the path by then.  So the file is opened without blocking, and the caller checks
 * its type again.
 */
static int open_regular(struct dirview *self, const char *path, struct statx *stx, struct err *err)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	owned_fd int found = open_entry(self, path, O_PATH, err);

	if (found < 0 || stat_regular(found, path, stx, err) < 0)
		return -(int)err->code;
	if (is_outside(self, stx))
		return err_set(err, ERR_DENIED, "'%.200s' is outside the snapshot", path);
	/* O_NOATIME fails with EPERM unless this user owns the file. */
	owned_fd int fd = resolve_reopen(found, flags | O_NOATIME);
	if (fd == -EPERM)
		fd = resolve_reopen(found, flags);
	if (fd == -ENOENT) {
		fd = open_entry(self, path, flags, err);
		if (fd >= 0 && stat_regular(fd, path, stx, err) < 0)
			return -(int)err->code;
		return take_fd(&fd);
	}
	if (fd < 0) {
		err_number(err, -fd, "open '%.200s'", path);
		return refuse(err);
	}
	return take_fd(&fd);
}

/*
 * Open a file that was a regular file when its directory was listed.  This is faster than
 * open_regular.  If another kind of file is at the path now, that file is closed unread.
 */
static int open_listed_file(
	struct dirview *self, const char *path, struct statx *stx, struct err *err)
{
	const char *name;
	int dir = open_parent(self, path, &name, err);

	if (dir < 0)
		return refuse(err);
	owned_fd int fd = at_name_read(dir, name);
	if (fd < 0) {
		err_number(err, -fd, "open '%.200s'", path);
		return refuse(err);
	}
	if (stat_regular(fd, path, stx, err) < 0)
		return -(int)err->code;
	if (is_outside(self, stx))
		return err_set(err, ERR_DENIED, "'%.200s' is outside the snapshot", path);
	return take_fd(&fd);
}

static int view_read(struct view *view, const struct entry *file, struct str path, uint64_t offset,
	uint64_t length, content_sink sink, void *arg, struct err *err)
{
	owned_mem char *name = copy_path(path);
	struct statx stx;

	if (!name)
		return err_set(err, ERR_DENIED, "no such file");
	if (offset > INT64_MAX)
		return 0;
	owned_fd int fd = file->brief ? open_listed_file(dirview_of(view), name, &stx, err)
				      : open_regular(dirview_of(view), name, &stx, err);
	if (fd < 0)
		return fd;
	/*
	 * Limit the length to the size of the file.  Otherwise a further read would be needed to
	 * find its end.
	 */
	uint64_t rest = stx.stx_size > offset ? stx.stx_size - offset : 0;
	if (length > rest)
		length = rest;
	return view->holes ? content_fd_sparse(fd, name, offset, length, sink, arg, err)
			   : content_fd_read(fd, name, offset, length, sink, arg, err);
}

static int view_xattrs(struct view *view, const struct entry *entry, struct str path,
	struct buf *out, struct err *err)
{
	owned_mem char *copy = copy_path(path);
	const char *name;

	if (!copy)
		return err_set(err, ERR_DENIED, "no such file");
	int dir = open_parent(dirview_of(view), copy, &name, err);
	if (dir < 0)
		return refuse(err);
	int r = xattrs_read(dir, *name ? name : ".", false, out);
	return r < 0 ? err_number(err, -r, "read the extended attributes of '%.100s'", name) : 0;
}

static struct view *view_again(struct view *view, struct err *err)
{
	struct dirview *self = dirview_of(view);
	int root = fcntl(self->root, F_DUPFD_CLOEXEC, 0);

	if (root >= 0)
		return dirview_new(root, &self->options);
	(void)err_errno(err, "open the snapshot's root again");
	return NULL;
}

static void view_close(struct view *view)
{
	struct dirview *self = dirview_of(view);

	close_fd(&self->root);
	close_fd(&self->kept);
	free(self->kept_path);
	free(self);
}

static const struct view_ops dirview_ops = {
	.stat = view_stat,
	.list = view_list,
	.read = view_read,
	.xattrs = view_xattrs,
	.again = view_again,
	.close = view_close,
};

struct view *dirview_new(int root, const struct dirview_options *options)
{
	struct dirview *self = mem_zalloc(sizeof(*self));

	self->view.ops = &dirview_ops;
	self->view.root = &self->root;
	self->root = root;
	self->kept = -1;
	self->options = *options;
	if (options->shared_inodes)
		(void)at_fd_stat(root, &self->root_stat);
	return &self->view;
}
