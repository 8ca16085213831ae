#include "capture/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

#define EVENTS                                                                                     \
	(IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE |        \
		IN_DELETE | IN_MOVE_SELF | IN_ONLYDIR)
#define READ_SIZE 65536
#define DEPTH_MAX 4096 /* maximum depth of directories; deeper ones are not watched */
#define SLOTS_MIN 64

/*
 * A watched directory.  It is an element of a hash table with open addressing, whose key is the
 * watch descriptor.
 */
struct dir {
	int wd; /* 0: the slot is free; REMOVED: the slot's directory was removed */
	int parent;
	char *name;
};

#define REMOVED (-1)

struct watch {
	int inotify;
	int root;
	char *path; /* path of the root directory when the watch began */
	int root_wd;
	const struct watch_without *without;
	struct statx own; /* status of the directory without->own; stx_ino is 0 if there is none */
	bool partial;
	/*
	 * the tree has to be scanned for directories, because events were lost or a directory was
	 * not found
	 */
	bool rescan;
	struct dir *dirs;
	size_t n_slots; /* number of slots, a power of two */
	size_t n_used;  /* number of slots that are not free */
	size_t n_dirs;
};

/* ------------------------------------------------------------------- table */

static struct dir *find_dir(const struct watch *watch, int wd)
{
	size_t mask = watch->n_slots - 1;

	for (size_t i = (size_t)wd & mask;; i = (i + 1) & mask) {
		if (watch->dirs[i].wd == wd)
			return &watch->dirs[i];
		if (!watch->dirs[i].wd)
			return NULL;
	}
}

static void insert_dir(struct watch *watch, struct dir dir)
{
	size_t mask = watch->n_slots - 1;
	size_t i = (size_t)dir.wd & mask;

	while (watch->dirs[i].wd)
		i = (i + 1) & mask;
	watch->dirs[i] = dir;
	watch->n_used++;
	watch->n_dirs++;
}

static void rebuild_table(struct watch *watch, size_t n_slots)
{
	struct dir *old = watch->dirs;
	size_t n_old = watch->n_slots;

	watch->dirs = mem_zalloc(n_slots * sizeof(*watch->dirs));
	watch->n_slots = n_slots;
	watch->n_used = watch->n_dirs = 0;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].wd > 0)
			insert_dir(watch, old[i]);
	free(old);
}

/*
 * Add a directory to the table, or change its name and parent there.  A directory that was renamed
 * keeps its watch descriptor, and may be in the table already.
 */
static void add_to_table(struct watch *watch, int wd, int parent, const char *name)
{
	struct dir *dir = find_dir(watch, wd);

	if (dir) {
		free(dir->name);
		dir->name = mem_strdup(name);
		dir->parent = parent;
		return;
	}
	if (4 * (watch->n_used + 1) > 3 * watch->n_slots)
		rebuild_table(watch,
			watch->n_dirs * 2 > watch->n_slots ? watch->n_slots * 2 : watch->n_slots);
	insert_dir(watch, (struct dir){ wd, parent, mem_strdup(name) });
}

static void remove_from_table(struct watch *watch, int wd)
{
	struct dir *dir = find_dir(watch, wd);

	if (!dir)
		return;
	free(dir->name);
	*dir = (struct dir){ .wd = REMOVED };
	watch->n_dirs--;
}

/* -------------------------------------------------------------- leaving out */

/*
 * Fill the array 'chain' with a watched directory and all directories above it except the root.
 * Returns their number, or -1 if one of them is not in the table.
 */
static int find_chain(const struct watch *watch, int wd, const struct dir *chain[DEPTH_MAX])
{
	int n = 0;

	for (; wd != watch->root_wd; n++) {
		const struct dir *dir = find_dir(watch, wd);

		if (!dir || n == DEPTH_MAX)
			return -1;
		chain[n] = dir;
		wd = dir->parent;
	}
	return n;
}

/*
 * Append the path of a watched directory and a slash to *path.  Returns false if the directory is
 * not in the table.
 */
static bool add_path(const struct watch *watch, int wd, struct buf *path)
{
	const struct dir *chain[DEPTH_MAX];
	int n = find_chain(watch, wd, chain);

	for (int i = n; i > 0; i--)
		buf_addf(path, "%s/", chain[i - 1]->name);
	return n >= 0;
}

/* Whether a pattern for excluded files matches a name in a watched directory. */
static bool is_excluded(const struct watch *watch, int wd, const char *name)
{
	const struct watch_without *without = watch->without;
	owned(buf_release) struct buf path = BUF_INIT;

	for (size_t i = 0; without && i < without->n_exclude; i++) {
		struct str pattern = str_of(without->exclude[i]);
		bool anywhere = !memchr(pattern.ptr, '/', pattern.len);

		if (!anywhere && !path.len) {
			if (!add_path(watch, wd, &path))
				continue;
			buf_adds(&path, name);
		}
		if (text_glob(
			    pattern, anywhere ? str_of(name) : (struct str){ path.data, path.len }))
			return true;
	}
	return false;
}

static bool is_own(const struct watch *watch, int fd)
{
	const struct statx *own = &watch->own;
	struct statx stx;

	return own->stx_ino && at_fd_stat(fd, &stx) == 0 && stx.stx_ino == own->stx_ino &&
	       stx.stx_dev_major == own->stx_dev_major && stx.stx_dev_minor == own->stx_dev_minor;
}

/* ------------------------------------------------------------------ adding */

/* Watch an open directory.  Returns its watch descriptor or -errno. */
static int add_watch(struct watch *watch, int fd)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int wd = inotify_add_watch(watch->inotify, path, EVENTS);
	if (wd < 0 && errno == ENOSPC)
		watch->partial = true;
	return wd < 0 ? -errno : wd;
}

/*
 * Open a directory by its name.  Returns -errno on failure.  Callers ignore a failure, since
 * another process may have removed the directory, or replaced it with a file.
 */
static int open_below(int fd, const char *name)
{
	return at_name_open(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
}

/* Open a directory in order to watch it.  Returns -ENOENT if the directory is excluded. */
static int open_wanted(const struct watch *watch, int fd, int wd, const char *name)
{
	if (is_excluded(watch, wd, name))
		return -ENOENT;
	int below = open_below(fd, name);
	if (below < 0 || !is_own(watch, below))
		return below;
	(void)close(below);
	return -ENOENT;
}

static bool may_be_dir(const struct dirent *d)
{
	return d->d_type == DT_DIR || d->d_type == DT_UNKNOWN;
}

/*
 * Watch all directories below the open directory fd, whose watch descriptor is wd.  fd is taken
 * over.
 */
static void add_below(struct watch *watch, int fd, int wd, int depth)
{
	DIR *dir = fdopendir(fd);

	if (!dir) {
		close_fd(&fd);
		return;
	}
	for (struct dirent *d; (d = readdir(dir));) {
		if (!may_be_dir(d) || !strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		int below =
			depth < DEPTH_MAX ? open_wanted(watch, dirfd(dir), wd, d->d_name) : -ELOOP;
		if (below == -ELOOP || at_scarce(-below))
			watch->partial = true;
		int added = below < 0 ? below : add_watch(watch, below);
		if (added < 0) {
			if (below >= 0)
				(void)close(below);
			continue;
		}
		add_to_table(watch, added, wd, d->d_name);
		add_below(watch, below, added, depth + 1);
	}
	closedir(dir);
}

/*
 * Open a watched directory by its path in the table.  Returns -errno if the path no longer leads to
 * a directory.
 */
static int open_dir(const struct watch *watch, int wd)
{
	const struct dir *chain[DEPTH_MAX];
	int n = find_chain(watch, wd, chain);

	if (n < 0)
		return -ESTALE;
	owned_fd int fd = fcntl(watch->root, F_DUPFD_CLOEXEC, 0);
	while (fd >= 0 && n) {
		int below = open_below(fd, chain[--n]->name);

		close_fd(&fd);
		fd = below;
	}
	return fd < 0 ? fd : take_fd(&fd);
}

static void add_new_dir(struct watch *watch, int parent, const char *name)
{
	owned_fd int above = open_dir(watch, parent);
	int fd = above < 0 ? above : open_wanted(watch, above, parent, name);

	/*
	 * If the parent was moved, the whole tree must be scanned for directories again.  If the
	 * new directory itself is gone, there is nothing to do.
	 */
	if (above < 0)
		watch->rescan = true;
	if (fd < 0)
		return;
	int wd = add_watch(watch, fd);
	if (wd < 0) {
		(void)close(fd);
		return;
	}
	add_to_table(watch, wd, parent, name);
	add_below(watch, fd, wd, 0);
}

static int scan_tree(struct watch *watch, struct err *err)
{
	int fd = at_name_open(watch->root, ".", O_RDONLY | O_DIRECTORY);
	int wd = fd < 0 ? fd : add_watch(watch, fd);

	if (wd < 0) {
		close_fd(&fd);
		errno = -wd;
		err_errno(err, "watch the live tree");
		if (wd == -ENOSPC)
			return err_hint(err, "raise fs.inotify.max_user_watches");
		return -(int)err->code;
	}
	watch->root_wd = wd;
	watch->rescan = false;
	add_below(watch, fd, wd, 0);
	return 0;
}

/* ---------------------------------------------------------------- interface */

struct watch *watch_new(int root, const struct watch_without *without, struct err *err)
{
	struct watch *watch = mem_zalloc(sizeof(*watch));

	rebuild_table(watch, SLOTS_MIN);
	watch->without = without;
	if (without && without->own >= 0 && at_fd_stat(without->own, &watch->own) < 0)
		watch->own.stx_ino = 0;
	watch->root = fcntl(root, F_DUPFD_CLOEXEC, 0);
	watch->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	watch->path = watch->root < 0 ? NULL : at_path_of(watch->root, err);
	int r = watch->root < 0 || watch->inotify < 0 ? err_errno(err, "watch the live tree")
						      : scan_tree(watch, err);
	if (r >= 0)
		return watch;
	if (watch->inotify < 0 && err->errno_value == EMFILE)
		err_hint(err, "raise fs.inotify.max_user_instances");
	watch_free(watch);
	return NULL;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->n_slots; i++)
		free(watch->dirs[i].name);
	free(watch->dirs);
	close_fd(&watch->inotify);
	close_fd(&watch->root);
	free(watch->path);
	free(watch);
}

int watch_fd(const struct watch *watch)
{
	return watch->inotify;
}

bool watch_partial(const struct watch *watch)
{
	return watch->partial;
}

/*
 * A directory that was moved counts as gone.  An example is the upper directory of an overlay: it
 * is moved when it is frozen, and never changes after that.
 */
bool watch_gone(const struct watch *watch)
{
	struct stat st;
	struct err ignored = { 0 };

	if (fstat(watch->root, &st) < 0 || !st.st_nlink)
		return true;
	owned_mem char *now = at_path_of(watch->root, &ignored);
	return now && watch->path && strcmp(now, watch->path) != 0;
}

uint64_t watch_count(const struct watch *watch)
{
	return watch->n_dirs + 1;
}

/* Handle one event.  Returns false if the event is about an excluded file. */
static bool handle_event(struct watch *watch, const struct inotify_event *event)
{
	if (event->len && event->wd >= 0 && is_excluded(watch, event->wd, event->name))
		return false;
	if (event->mask & IN_Q_OVERFLOW)
		watch->rescan = true;
	else if (event->mask & IN_IGNORED)
		remove_from_table(watch, event->wd);
	else if (event->mask & IN_ISDIR && event->mask & (IN_CREATE | IN_MOVED_TO) && event->len)
		add_new_dir(watch, event->wd, event->name);
	return true;
}

int watch_read(struct watch *watch, struct err *err)
{
	_Alignas(struct inotify_event) char bytes[READ_SIZE];
	int changed = 0;
	ssize_t n;

	while ((n = read(watch->inotify, bytes, sizeof(bytes))) > 0) {
		for (char *at = bytes; at < bytes + n;) {
			const struct inotify_event *event = (const void *)at;

			changed |= handle_event(watch, event);
			at += sizeof(*event) + event->len;
		}
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return err_errno(err, "read events of the live tree");
	if (watch->rescan && scan_tree(watch, err) < 0)
		return -(int)err->code;
	return changed;
}
