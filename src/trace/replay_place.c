/*
 * Makes the temporary directory, the namespaces and the mounts of a repeated run.
 *
 * The steps of replay_place_enter must have this order:
 *
 * 1. Mounts are made private before anything is mounted, so that no mount is seen outside the
 *    namespace.
 * 2. /proc, /dev, /sys and the temporary directory are copied before everything is made read-only.
 *    The copies stay writable, and are mounted in their places afterwards.
 * 3. All lower directories are opened before any of them is covered.  A lower directory may be on a
 *    mount below another lower directory, whose overlay would hide it.
 */
#include "trace/replay_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/sandbox_user.h"

#define OPTIONS_MAX 512
#define PROBE "trusted.overlay.strata"

/* ------------------------------------------------- the temporary directory */

/*
 * Try to make the temporary directory in the directory 'where'.  Returns 1 on success, 0 if 'where'
 * cannot be used, or a negative error.
 */
static int try_place(struct replay_place *place, const char *where,
	const struct replay_cover *cover, struct err *err)
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given(where, O_RDONLY | O_DIRECTORY, 0, &ignored);
	owned_mem char *path = fd < 0 ? NULL : at_path_of(fd, &ignored);

	if (!path || replay_cover_hides(cover, str_of(path)))
		return 0;
	close_fd(&place->parent);
	place->parent = take_fd(&fd);
	place->name = at_mkdir_new(place->parent, "strata-replay", &ignored);
	if (!place->name)
		return 0;
	place->path = mem_printf("%s/%s", path[1] ? path : "", place->name);
	place->dir = at_open(place->parent, place->name, O_RDONLY | O_DIRECTORY, err);
	return place->dir < 0 ? place->dir : 1;
}

int replay_place_init(struct replay_place *place, const struct replay_cover *cover, struct err *err)
{
	const char *const candidates[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", getenv("HOME") };
	int rc = 0;

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]) && !rc; i++)
		if (candidates[i] && *candidates[i] == '/')
			rc = try_place(place, candidates[i], cover, err);
	if (rc)
		return rc < 0 ? rc : 0;
	err_set(err, ERR_UNSUPPORTED,
		"all directories for temporary files are among those that the command changed");
	return err_hint(err, "set TMPDIR to another one");
}

void replay_place_release(struct replay_place *place)
{
	struct err ignored = { 0 };

	close_fd(&place->dir);
	if (place->name)
		(void)at_remove_tree(place->parent, place->name, &ignored);
	close_fd(&place->parent);
	free(place->name);
	free(place->path);
}

/* ---------------------------------------------------------------- namespaces */

/*
 * Map only the user's own ids, each to itself.  Inside the namespace, files of other users belong
 * to nobody.
 */
static int map_self(uid_t uid, gid_t gid, struct err *err)
{
	char uids[64], gids[64];

	snprintf(uids, sizeof(uids), "%u %u 1\n", uid, uid);
	snprintf(gids, sizeof(gids), "%u %u 1\n", gid, gid);
	/* Only root may map a group without denying setgroups. */
	if (procfile_write("/proc/self/setgroups", "deny", err) < 0 ||
		procfile_write("/proc/self/uid_map", uids, err) < 0 ||
		procfile_write("/proc/self/gid_map", gids, err) < 0)
		return err_context(err, "make a user namespace");
	return 0;
}

static int unshare_all(struct err *err)
{
	char why[SANDBOX_USER_WHY_MAX];
	bool root = sandbox_user_choose(why) == SANDBOX_USER_ROOT;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) < 0)
		return sandbox_user_refused(
			errno, root ? "make a mount namespace" : "make a user namespace", err);
	return root ? 0 : map_self(uid, gid, err);
}

int replay_place_drop_rights(struct err *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	/* root keeps its capabilities, which it also had outside this namespace */
	if (geteuid() == 0 || syscall(SYS_capset, &header, none) == 0)
		return 0;
	return err_errno(err, "give up capabilities");
}

/* -------------------------------------------------------------------- mounts */

static int set_all_mounts(struct mount_attr attr, const char *what, struct err *err)
{
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) == 0)
		return 0;
	int error = errno;
	err_errno(err, "make all mounts %s", what);
	return error == EINVAL ? err_hint(err, "that does not work in a chroot") : -(int)err->code;
}

/*
 * Make a detached copy of the mount at a path, and of all mounts below it.  The copy will be
 * mounted at the same path later.  If the path does not exist, *tree is -1.
 */
static int copy_mount(const char *path, int *tree, struct err *err)
{
	*tree = open_tree(
		AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned)AT_RECURSIVE);
	return *tree < 0 && errno != ENOENT ? err_errno(err, "keep '%s' writable", path) : 0;
}

static int put_mount_back(int tree, const char *path, struct err *err)
{
	if (tree < 0 || move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0)
		return 0;
	return err_errno(err, "keep '%s' writable", path);
}

#define KEPT 4

static int make_read_only(const struct replay_place *place, struct err *err)
{
	const char *const paths[KEPT] = { "/proc", "/dev", "/sys", place->path };
	int trees[KEPT] = { -1, -1, -1, -1 };
	int rc = set_all_mounts((struct mount_attr){ .propagation = MS_PRIVATE }, "private", err);

	for (size_t i = 0; i < KEPT && rc >= 0; i++)
		rc = copy_mount(paths[i], &trees[i], err);
	if (rc >= 0)
		rc = set_all_mounts(
			(struct mount_attr){ .attr_set = MOUNT_ATTR_RDONLY }, "read-only", err);
	for (size_t i = 0; i < KEPT; i++) {
		if (rc >= 0)
			rc = put_mount_back(trees[i], paths[i], err);
		close_fd(&trees[i]);
	}
	return rc;
}

/* A directory that is being covered by an overlay. */
struct layer {
	const char *path;
	int lower, upper, work, target;
	/* the overlay can rename directories, since trusted.* attributes can be set */
	bool trusted;
};

static int open_new(int dir, const char *name, struct err *err)
{
	if (mkdirat(dir, name, 0700) < 0)
		return err_errno(err, "make a temporary directory");
	return at_open(dir, name, O_RDONLY | O_DIRECTORY, err);
}

/*
 * Give the upper directory the attributes of the covered directory, because an overlay has the
 * attributes of its upper directory.
 */
static int copy_attributes(const struct layer *layer, struct err *err)
{
	struct statx stx;

	errno = -at_fd_stat(layer->lower, &stx);
	if (errno)
		return err_errno(err, "look at '%s'", layer->path);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ stx.stx_mtime.tv_sec, (long)stx.stx_mtime.tv_nsec } };
	/* a user who may not set the owner stays the owner */
	(void)!fchown(layer->upper, stx.stx_uid, stx.stx_gid);
	if (fchmod(layer->upper, stx.stx_mode & 07777) < 0 || futimens(layer->upper, times) < 0)
		return err_errno(err, "cover '%s'", layer->path);
	return 0;
}

static int prepare_layer(
	struct layer *layer, const struct replay_place *place, size_t i, struct err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "layer-%zu", i);
	/*
	 * Open the directory by its path.  The descriptor place->dir is useless here, since it
	 * belongs to a mount of the outer namespace.
	 */
	owned_fd int here = at_open_given(place->path, O_RDONLY | O_DIRECTORY, 0, err);
	owned_fd int dir = here < 0 ? here : open_new(here, name, err);
	if (dir < 0)
		return dir;
	layer->upper = open_new(dir, "upper", err);
	if (layer->upper >= 0)
		layer->work = open_new(dir, "work", err);
	if (layer->upper < 0 || layer->work < 0)
		return -(int)err->code;
	layer->trusted = at_xattr_set(dir, "work", PROBE, "y", 1) >= 0 &&
			 at_xattr_remove(dir, "work", PROBE) >= 0;
	return copy_attributes(layer, err);
}

static int mount_failed(const struct layer *layer, struct err *err)
{
	int error = errno;

	err_set(err, ERR_UNSUPPORTED, "cover '%s' by an overlay: %s", layer->path,
		strerrordesc_np(error));
	switch (error) {
	case EINVAL:
		return err_hint(err, "is something mounted inside it, or are temporary files on an "
				     "overlay or a network? Set TMPDIR to a directory on a disk");
	case ENODEV:
		return err_hint(err, "this kernel has no overlay file system, or not its module");
	case EPERM:
		return err_hint(err, "an ordinary user needs Linux 5.11 for that");
	default:
		return err_hint(err, "the kernel log may say more");
	}
}

/*
 * Mount the overlay of one directory.  The layers are passed as descriptors, so that no path has to
 * be escaped.
 *
 * If root runs strata, directories in the overlay can be renamed as usual.  If another user runs
 * strata, rename(2) fails with EXDEV for a directory that existed before the mount.
 */
static int mount_layer(struct layer *layer, int root, struct err *err)
{
	char options[OPTIONS_MAX], target[64];

	layer->target = at_open(root, layer->path + 1, O_PATH | O_DIRECTORY, err);
	if (layer->target < 0)
		return layer->target;
	snprintf(options, sizeof(options),
		"%s,index=on,metacopy=off,lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,"
		"workdir=/proc/self/fd/%d",
		layer->trusted ? "redirect_dir=on" : "userxattr", layer->lower, layer->upper,
		layer->work);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", layer->target);
	if (mount("overlay", target, "overlay", 0, options) < 0)
		return mount_failed(layer, err);
	return 0;
}

static int mount_layers(
	struct layer *layers, size_t n, const struct replay_place *place, struct err *err)
{
	owned_fd int root = at_open_given("/", O_PATH | O_DIRECTORY, 0, err);
	int rc = root < 0 ? root : 0;

	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = layers[i].lower =
			at_open(root, layers[i].path + 1, O_RDONLY | O_DIRECTORY, err);
		if (rc >= 0)
			rc = prepare_layer(&layers[i], place, i, err);
	}
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = mount_layer(&layers[i], root, err);
	return rc;
}

int replay_place_enter(
	const struct replay_place *place, const struct replay_cover *cover, struct err *err)
{
	struct layer layers[REPLAY_COVER_MAX];
	int rc = unshare_all(err);

	if (rc >= 0)
		rc = make_read_only(place, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < cover->n_dirs; i++)
		layers[i] = (struct layer){ cover->dirs[i].ptr, -1, -1, -1, -1, false };
	rc = mount_layers(layers, cover->n_dirs, place, err);
	for (size_t i = 0; i < cover->n_dirs; i++) {
		close_fd(&layers[i].lower);
		close_fd(&layers[i].upper);
		close_fd(&layers[i].work);
		close_fd(&layers[i].target);
	}
	return rc < 0 ? rc : 0;
}
