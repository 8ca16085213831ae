/*
 * The order of the steps of bindmounts_enter matters:
 *
 * 1. Make a mount namespace in which the host's mounts can be cloned.  In this namespace, mount
 *    masks on files that the clones must not show.  If owners have to be mapped, first cover the
 *    mounts below the binds with mapped copies.
 * 2. Clone the host's files of each bind.  A clone has a descriptor, and is not mounted yet.
 * 3. Copy the sandbox's mounts, and mount the clones on their mount points in the copy.
 *
 * A mount point is looked up from the root of the sandbox, without following links.
 */
#include "sandbox/bindmounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/fsids.h"
#include "core/mem.h"
#include "core/mountinfo.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/ids.h"
#include "sandbox/mounts.h"

#define MOUNTS_TEXT_MAX ((size_t)16 << 20)
#define POINT_MODE 0755
#define POINT_FILE_MODE 0644
/* Set-user-id bits and devices of the host do not work in the sandbox. */
#define ATTR_BIND (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTR_MASK (ATTR_BIND | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY)

/*
 * File systems of the kernel itself.  A bind of their files is refused, since these files obey the
 * caller's ids in any namespace.  For example, the host's /proc would let a program in the sandbox
 * reach every process of the same user.  Through such a process, the program would reach the root
 * directory of the host.
 */
static const struct {
	const char *type;
	long magic;
} kernel_files[] = {
	{ "proc", PROC_SUPER_MAGIC },
	{ "sysfs", SYSFS_MAGIC },
	{ "cgroup", CGROUP_SUPER_MAGIC },
	{ "cgroup2", CGROUP2_SUPER_MAGIC },
	{ "debugfs", DEBUGFS_MAGIC },
	{ "tracefs", TRACEFS_MAGIC },
	{ "securityfs", SECURITYFS_MAGIC },
	{ "bpf", BPF_FS_MAGIC },
	{ "binfmt_misc", BINFMTFS_MAGIC },
	{ "efivarfs", EFIVARFS_MAGIC },
	{ "configfs", 0x62656570 },
	{ "pstore", PSTOREFS_MAGIC },
};
#define N_KERNEL_FILES (sizeof(kernel_files) / sizeof(kernel_files[0]))

/* --------------------------------------------------------------------- masks */

static int empty_tree(struct err *err)
{
	owned_fd int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int tree = -1;

	if (fs >= 0 && fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
		fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		tree = fsmount(fs, FSMOUNT_CLOEXEC, ATTR_MASK);
	return tree < 0 ? err_errno(err, "make an empty file system") : tree;
}

/*
 * Mount an empty directory on a directory, or /dev/null on a file.  ENOENT is no failure: another
 * mask already hides the path.
 */
static int cover(const char *path, struct err *err)
{
	owned_fd int tree = empty_tree(err);

	if (tree < 0)
		return tree;
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR) {
		owned_fd int null =
			open_tree(AT_FDCWD, "/dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

		if (null >= 0 &&
			(move_mount(null, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0 ||
				errno == ENOENT))
			return 0;
	}
	return err_errno(err, "hide '%s' from the inside", path);
}

/* The directory to hide, and its path in its file system. */
struct hidden {
	struct statx stx;
	char device[32];
	char *path; /* path from the root of its file system; NULL: not found */
};

/*
 * Returns the part of 'path' after 'dir', including the slash.  Returns NULL if 'path' does not lie
 * in 'dir'.
 */
static const char *path_below(const char *path, const char *dir)
{
	size_t len = strcmp(dir, "/") ? strlen(dir) : 0;

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/') ? path + len : NULL;
}

static char *join_paths(const char *dir, const char *rest)
{
	return mem_printf("%s%s", !strcmp(dir, "/") && *rest ? "" : dir, rest);
}

/*
 * Find the mount that contains a path: of all mounts at the path or above it, the one with the
 * longest mount point.  If several mounts have this mount point, the last of them contains the
 * path.
 */
static bool find_mount(const char *path, char *mounts, struct mountinfo *found)
{
	struct mountinfo mount;
	size_t longest = 0;
	bool any = false;

	while (mountinfo_next(&mounts, &mount)) {
		if (!path_below(path, mount.point) || strlen(mount.point) < longest)
			continue;
		longest = strlen(mount.point);
		*found = mount;
		any = true;
	}
	return any;
}

static void locate_hidden(const char *path, char *mounts, struct hidden *hidden)
{
	struct mountinfo mount;

	if (!find_mount(path, mounts, &mount))
		return;
	hidden->path = join_paths(mount.root, path_below(path, mount.point));
	snprintf(hidden->device, sizeof(hidden->device), "%s", mount.device);
}

/*
 * Cover the hidden directory in 'mount', one of the mounts that may show it.  Does nothing if
 * 'mount' does not show it.
 */
static int cover_hidden(const struct mountinfo *mount, const struct hidden *hidden, struct err *err)
{
	const char *rest = hidden->path && !strcmp(mount->device, hidden->device)
				   ? path_below(hidden->path, mount->root)
				   : NULL;
	struct statx stx;

	if (!rest)
		return 0;
	owned_mem char *place = join_paths(mount->point, rest);
	if (at_abs_stat(place, &stx) < 0 || stx.stx_ino != hidden->stx.stx_ino ||
		stx.stx_dev_major != hidden->stx.stx_dev_major ||
		stx.stx_dev_minor != hidden->stx.stx_dev_minor)
		return 0;
	return cover(place, err);
}

/* Whether a mount point of the host lies below the host's directory of a bind. */
static bool is_shown(const struct bindspecs *binds, const char *point)
{
	for (size_t i = 0; i < binds->n; i++)
		if (strcmp(point, binds->list[i].host) && path_below(point, binds->list[i].host))
			return true;
	return false;
}

static int cover_kernel_files(
	const struct bindspecs *binds, const struct mountinfo *mount, struct err *err)
{
	for (size_t i = 0; i < N_KERNEL_FILES; i++)
		if (!strcmp(mount->type, kernel_files[i].type) && is_shown(binds, mount->point))
			return cover(mount->point, err);
	return 0;
}

static int make_masks(const struct bindspecs *binds, const struct buf *mounts, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT, again = BUF_INIT;
	struct hidden hidden = { .path = NULL };
	struct mountinfo mount;
	int r = 0;

	buf_add(&text, mounts->data, mounts->len);
	buf_add(&again, mounts->data, mounts->len);
	if (binds->hidden && at_abs_stat(binds->hidden, &hidden.stx) == 0)
		locate_hidden(binds->hidden, again.data, &hidden);
	for (char *rest = text.data; r >= 0 && mountinfo_next(&rest, &mount);) {
		r = cover_hidden(&mount, &hidden, err);
		if (r >= 0)
			r = cover_kernel_files(binds, &mount, err);
	}
	free(hidden.path);
	return r < 0 ? r : 0;
}

/* ----------------------------------------------------------------- submounts */

/* Copies of the mounts below the binds.  Each copy is to be mounted on top of its original. */
struct copies {
	struct copy {
		int tree;
		char *point;
	} * list;
	size_t n, capacity;
};

static void copies_release(struct copies *copies)
{
	for (size_t i = 0; i < copies->n; i++) {
		close_fd(&copies->list[i].tree);
		free(copies->list[i].point);
	}
	free(copies->list);
}

static int copy_mapped(const char *point, int ids, struct copies *copies, struct err *err)
{
	int tree = open_tree(
		AT_FDCWD, point, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	/* Another mount hides this mount, so no copy is needed. */
	if (tree < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (tree < 0)
		return err_errno(err, "--bind: take '%s'", point);
	(void)ids_map_mount(tree, "", ids);
	mem_grow(&copies->list, &copies->capacity, copies->n);
	copies->list[copies->n++] = (struct copy){ tree, mem_strdup(point) };
	return 0;
}

/*
 * Map the owners in the mounts below a bind, one mount after the other.  The kernel maps the owners
 * of a tree of mounts only if every mount of the tree can map owners.  In a mount that cannot map
 * owners, such as the host's /proc, files belong to nobody.  Root in the sandbox has no more rights
 * to these files than any other user.
 */
static int map_submounts(
	const struct bindspecs *binds, int ids, const struct buf *mounts, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;
	owned(copies_release) struct copies copies = { .list = NULL };
	struct mountinfo mount;

	buf_add(&text, mounts->data, mounts->len);
	for (char *rest = text.data; mountinfo_next(&rest, &mount);)
		if (is_shown(binds, mount.point) && copy_mapped(mount.point, ids, &copies, err) < 0)
			return -(int)err->code;
	/* In the list, a mount comes before the mounts that lie in it. */
	for (size_t i = 0; i < copies.n; i++)
		if (move_mount(copies.list[i].tree, "", AT_FDCWD, copies.list[i].point,
			    MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return err_errno(
				err, "--bind: map the owners of '%s'", copies.list[i].point);
	return 0;
}

/* -------------------------------------------------------------------- clones */

static int refuse_kernel_files(int tree, const char *host, struct err *err)
{
	struct statfs fs;

	if (fstatfs(tree, &fs) < 0)
		return err_errno(err, "--bind: look at '%s'", host);
	for (size_t i = 0; i < N_KERNEL_FILES; i++)
		if (fs.f_type == kernel_files[i].magic)
			return err_set(err, ERR_DENIED,
				"--bind: '%s' is a file of the kernel (%s): the sandbox has its "
				"own",
				host, kernel_files[i].type);
	return 0;
}

static int refuse_unmapped(int error, const char *host, char *mounts, struct err *err)
{
	struct mountinfo mount;
	bool known = find_mount(host, mounts, &mount);

	if (error != EINVAL && error != EPERM && error != EOPNOTSUPP)
		return err_number(err, error, "--bind: map the owners of '%s'", host);
	err_set(err, ERR_UNSUPPORTED,
		"--bind: the file system of '%s' (%s) cannot map owners, which sandboxes of root "
		"need",
		host, known ? mount.type : "unknown");
	return err_hint(err, "bind from a file system that can, such as ext4, xfs, btrfs or tmpfs, "
			     "or copy the files with 'strata cp'");
}

/*
 * Make the clone 'tree' show the owners that files have on disk.  EPERM is no failure if bind->host
 * lies below the host's directory of another bind, since map_submounts has already mapped the
 * owners there.
 */
static int map_owners(const struct bindspecs *binds, const struct bindspec *bind, int tree, int ids,
	const struct buf *mounts, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;
	int r = ids_map_mount(tree, "", ids);

	if (r == 0 || (r == -EPERM && is_shown(binds, bind->host)))
		return 0;
	buf_add(&text, mounts->data, mounts->len);
	return refuse_unmapped(-r, bind->host, text.data, err);
}

/*
 * Clone the host's files for the sandbox.  Restrictions and the mapping of owners must be set here,
 * before the clone is mounted.  The clone includes the mounts below the path, because the kernel
 * does not let an ordinary user uncover files that a mount of the host covers.
 */
static int clone_host(const struct bindspecs *binds, const struct bindspec *bind, int ids,
	const struct buf *mounts, struct err *err)
{
	struct mount_attr attr = {
		.attr_set = ATTR_BIND | (bind->read_only ? MOUNT_ATTR_RDONLY : 0),
	};
	owned_fd int tree = open_tree(AT_FDCWD, bind->host,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);

	if (tree < 0)
		return err_errno(err, "--bind: take '%s'", bind->host);
	if (refuse_kernel_files(tree, bind->host, err) < 0)
		return -(int)err->code;
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return err_errno(err, "--bind: restrict '%s'", bind->host);
	if (ids >= 0 && map_owners(binds, bind, tree, ids, mounts, err) < 0)
		return -(int)err->code;
	return take_fd(&tree);
}

/* -------------------------------------------------------------- mount points */

/*
 * Whether the mount point of bind number 'which' lies in a bind that precedes it in the list.  Such
 * a mount point must not be made if it is missing, since the new file would be on the host.
 */
static bool is_in_bind(const struct bindspecs *binds, size_t which)
{
	for (size_t i = 0; i < which; i++)
		if (path_below(binds->list[which].inside, binds->list[i].inside))
			return true;
	return false;
}

static int make_point(int dir, const char *name, bool is_dir, struct err *err)
{
	if (is_dir)
		return mkdirat(dir, name, POINT_MODE) < 0 ? err_errno(err, "make the mount point")
							  : 0;
	owned_fd int fd = at_create(dir, name, O_WRONLY | O_EXCL, POINT_FILE_MODE, err);
	return fd < 0 ? fd : 0;
}

/*
 * Open the directory that contains the mount point.  Make this directory if it is missing and
 * may_make is set.
 */
static int open_parent(int root, const char *parent, bool may_make, struct err *err)
{
	const char *path = *parent ? parent : ".";
	int fd = at_open(root, path, O_PATH | O_DIRECTORY, err);

	if (fd >= 0 || err->code != ERR_NOT_FOUND || !may_make)
		return fd;
	if (at_mkdirs(root, path, POINT_MODE, err) < 0)
		return -(int)err->code;
	return at_open(root, path, O_PATH | O_DIRECTORY, err);
}

/* Find or make the mount point of a bind.  Returns 1 if the mount point was made, else 0. */
static int find_point(int dir, const char *name, int tree, bool may_make, struct err *err)
{
	struct statx host, point;
	int r = at_fd_stat(tree, &host);

	if (r < 0)
		return err_number(err, -r, "look at what is bound");
	bool is_dir = S_ISDIR(host.stx_mode);
	r = at_name_stat(dir, name, &point);
	if (r == -ENOENT && may_make)
		return make_point(dir, name, is_dir, err) < 0 ? -(int)err->code : 1;
	if (r < 0)
		return err_number(err, -r, "find the mount point");
	if (S_ISLNK(point.stx_mode))
		return err_set(err, ERR_INVALID, "a symbolic link is there");
	if (S_ISDIR(point.stx_mode) != is_dir)
		return err_set(err, ERR_INVALID, "a %s cannot be bound over a %s",
			is_dir ? "directory" : "file", is_dir ? "file" : "directory");
	return 0;
}

static int mount_bind(
	int root, const struct bindspecs *binds, size_t which, int tree, struct err *err)
{
	const char *inside = binds->list[which].inside + 1;
	const char *slash = strrchr(inside, '/');
	const char *name = slash ? slash + 1 : inside;
	bool may_make = !is_in_bind(binds, which);
	owned_mem char *parent = mem_printf("%.*s", slash ? (int)(slash - inside) : 0, inside);
	owned_fd int dir = open_parent(root, parent, may_make, err);
	int made = dir < 0 ? dir : find_point(dir, name, tree, may_make, err);

	if (made >= 0 && move_mount(tree, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		made = err_errno(err, "mount");
	return made < 0 ? err_context(err, "--bind: '/%s'", inside) : made;
}

/* ----------------------------------------------------------------------- all */

static int clone_all(const struct bindspecs *binds, int ids, int *trees, struct err *err)
{
	owned(buf_release) struct buf mounts = BUF_INIT;

	if (!binds->n)
		return 0;
	int r = mounts_unshare(err);
	/* Read this file now, since a mask may cover it later. */
	if (r >= 0 && procfile_read("/proc/self/mountinfo", MOUNTS_TEXT_MAX, &mounts, err) < 0)
		r = err_context(err, "see what is mounted");
	if (r >= 0 && ids >= 0)
		r = map_submounts(binds, ids, &mounts, err);
	if (r >= 0)
		r = make_masks(binds, &mounts, err);
	for (size_t i = 0; r >= 0 && i < binds->n; i++)
		r = trees[i] = clone_host(binds, &binds->list[i], ids, &mounts, err);
	return r < 0 ? r : 0;
}

static int mount_all(const struct bindspecs *binds, int mnt, const int *trees, struct err *err)
{
	int made = 0;

	if (setns(mnt, CLONE_NEWNS) < 0)
		return err_errno(err, "join the sandbox's mounts");
	if (mounts_unshare(err) < 0)
		return -(int)err->code;
	owned_fd int root = at_open_given("/", O_PATH | O_DIRECTORY, 0, err);
	if (root < 0)
		return root;
	for (size_t i = 0; i < binds->n; i++) {
		int r = mount_bind(root, binds, i, trees[i], err);

		if (r < 0)
			return r;
		made += r;
	}
	return made;
}

/*
 * Mount all binds with the ids of the sandbox's root user, so that new mount points belong to that
 * user.
 */
static int mount_all_as_root(
	const struct bindspecs *binds, int mnt, const int *trees, struct err *err)
{
	struct fsids before;
	struct err lost = { 0 };

	if (fsids_take(IDS_FIRST, IDS_FIRST, &before, err) < 0)
		return -(int)err->code;
	int made = mount_all(binds, mnt, trees, err);
	if (made >= 0 && fsids_give_back(&before, &lost) < 0) {
		*err = lost;
		return -(int)err->code;
	}
	return made;
}

int bindmounts_enter(const struct bindspecs *binds, int mnt, int ids, struct err *err)
{
	int trees[BINDSPEC_MAX];

	memset(trees, -1, sizeof(trees));
	(void)umask(0);
	int r = clone_all(binds, ids, trees, err);
	if (r >= 0)
		r = ids < 0 ? mount_all(binds, mnt, trees, err)
			    : mount_all_as_root(binds, mnt, trees, err);
	for (size_t i = 0; i < BINDSPEC_MAX; i++)
		close_fd(&trees[i]);
	return r;
}
