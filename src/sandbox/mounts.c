/*
 * The order of the steps of mounts_build matters:
 *
 * 1. A process that makes a new mount namespace has its working directory there, but its open
 *    descriptors still lead into the old one.  So the root is made from the working directory.
 * 2. The root is mounted on top of "/".  The other file systems are mounted in it while the host's
 *    files are still reachable.  A mount point is a single name in a directory that this process
 *    has open, and links are not followed: a tree whose /proc is a symbolic link gets no /proc.
 *    No file is created in the tree.
 * 3. pivot_root is called.  After this the host's mounts are gone.
 *
 * Commands run in a user namespace below the one that the mounts were built in, with a copy of
 * these mounts (namespaces.c).  In the copy the kernel locks the mounts: a read-only mount stays
 * read-only, and a covered file stays covered, even for root in the sandbox.
 */
#include "sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/fsids.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/ids.h"
#include "sandbox/mountcall.h"

#define RESOLV_MAX 65536
#define ID_TEXT_MAX 12
#define OPTIONS_MAX 4096 /* bytes of a page, the longest options that mount(2) takes */

struct building {
	const struct sandbox_plan *plan;
	struct mounts *out;
	int root, dev; /* descriptors in the new root; dev is -1 if the tree has no /dev */
	const struct mounts_ids *ids;
};

/* Record a feature that the sandbox lacks, and the reason. */
__attribute__((format(printf, 2, 3))) static void note_lack(
	struct building *building, const char *fmt, ...)
{
	char *text = building->out->degraded;
	size_t used = strlen(text);
	va_list ap;

	if (used && used + 1 < MOUNTS_DEGRADED_MAX)
		text[used++] = '\n';
	va_start(ap, fmt);
	vsnprintf(text + used, MOUNTS_DEGRADED_MAX - used, fmt, ap);
	va_end(ap);
}

/* Mount a copy of a file or directory, with the restrictions 'attr', on a name. */
static int bind_copy(int fromfd, const char *from, uint64_t attr, int dirfd, const char *name)
{
	owned_fd int tree =
		open_tree(fromfd, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (tree < 0 || mountcall_restrict(tree, 0, attr) < 0)
		return -1;
	return mountcall_attach(tree, dirfd, name);
}

/* ----------------------------------------------------------------- the root */

/* Append a path with escapes for ',', which ends an option, and for ':', which ends a layer. */
static void add_escaped(struct buf *out, const char *path)
{
	for (; *path; path++) {
		if (strchr("\\,:", *path))
			buf_addc(out, '\\');
		buf_addc(out, *path);
	}
}

void mounts_overlay_options(const struct sandbox_root *root, struct buf *out)
{
	buf_adds(out, "userxattr,index=off,metacopy=off,redirect_dir=nofollow,lowerdir=");
	for (size_t i = 0; i < root->n_lower; i++) {
		if (i)
			buf_addc(out, ':');
		add_escaped(out, root->lower[i]);
	}
	if (!root->upper)
		return;
	buf_adds(out, ",upperdir=");
	add_escaped(out, root->upper);
	buf_adds(out, ",workdir=");
	add_escaped(out, root->work);
}

/*
 * Whether fsconfig accepts even unknown options for an overlay.  Before Linux 6.5 it does: such
 * options are refused only when the file system is made, with an error in the kernel's log.
 */
static bool accepts_any_option(void)
{
	owned_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);

	return fs >= 0 && mountcall_set(fs, "strata", NULL) == 0;
}

/*
 * Mount the overlay with mount(2).  Before Linux 6.7 all layers are one option, and before 6.5 an
 * option for fsconfig has at most 255 bytes.  mount(2) takes a page of options, but needs a mount
 * point.  The work directory serves as mount point, since no other code uses it.  mount(2) silently
 * cuts off a longer string, and the upper directory would be lost first.  So the length is checked.
 */
static int overlay_in_one_string(const struct sandbox_root *root, struct err *err)
{
	owned(buf_release) struct buf options = { .max = OPTIONS_MAX };
	const char *target = root->work ? root->work : root->lower[0];

	mounts_overlay_options(root, &options);
	if (options.overflowed) {
		err_set(err, ERR_LIMIT, "the names of %zu layers do not fit into one mount option",
			root->n_lower);
		return err_hint(err, "this kernel takes no more; Linux 6.7 does");
	}
	if (mount("overlay", target, "overlay", MS_NODEV, options.data) < 0) {
		err_errno(err, "mount overlay");
		return err_hint(err, "can the file system of the workspace hold an overlay's upper "
				     "directory? The kernel log says more");
	}
	return at_open_given(target, O_PATH | O_DIRECTORY, 0, err);
}

static int overlay_configure(int fs, const struct sandbox_root *root)
{
	static const struct mountcall_option fixed[] = {
		{ "userxattr", NULL },
		{ "index", "off" },
		{ "metacopy", "off" },
		{ "redirect_dir", "nofollow" },
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (mountcall_set(fs, fixed[i].key, fixed[i].value) < 0)
			return -1;
	for (size_t i = 0; i < root->n_lower; i++)
		if (mountcall_set(fs, "lowerdir+", root->lower[i]) < 0)
			return -1;
	if (root->upper && (mountcall_set(fs, "upperdir", root->upper) < 0 ||
				   mountcall_set(fs, "workdir", root->work) < 0))
		return -1;
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

static int overlay_new(const struct sandbox_root *root, struct err *err)
{
	owned_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);

	if (fs < 0) {
		mountcall_failed(fs, "overlay", err);
		return err_hint(err, "this kernel has no overlay file system, or not its module");
	}
	if (accepts_any_option())
		return overlay_in_one_string(root, err);
	if (overlay_configure(fs, root) < 0)
		return errno == EINVAL ? overlay_in_one_string(root, err)
				       : mountcall_failed(fs, "overlay", err);
	owned_fd int tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV);
	if (tree < 0 || mountcall_attach(tree, AT_FDCWD, "/") < 0)
		return mountcall_failed(fs, "overlay", err);
	return take_fd(&tree);
}

/* Map the ids of a copied mount.  Whether this is possible can only be found out by trying. */
static int shift_mount(int tree, int ids, struct err *err)
{
	errno = -ids_map_mount(tree, "", ids);
	if (!errno)
		return 0;
	if (errno != EINVAL && errno != EPERM)
		return err_errno(err, "map ids");
	return err_set(err, ERR_UNSUPPORTED,
		"the file system of the environment, or this kernel, does not map ids");
}

static int directory_new(int ids, struct err *err)
{
	owned_fd int tree = open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 && errno == EINVAL) {
		err_errno(err, "take the tree as root");
		return err_hint(err, "is something mounted inside it? Unmount that first");
	}
	if (ids >= 0 && shift_mount(tree, ids, err) < 0)
		return -(int)err->code;
	if (tree < 0 || mountcall_restrict(tree, 0, MOUNT_ATTR_NODEV) < 0 ||
		mountcall_attach(tree, AT_FDCWD, "/") < 0)
		return err_errno(err, "take the tree as root");
	return take_fd(&tree);
}

/* ----------------------------------------------------------- the root, shifted */

int mounts_cover_shifted(const char *path, int ids, struct err *err)
{
	owned_fd int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return err_errno(err, "map the ids of '%s'", path);
	if (shift_mount(tree, ids, err) < 0)
		return -(int)err->code;
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) <
		0)
		return err_errno(err, "map the ids of '%s'", path);
	return take_fd(&tree);
}

/* Whether a layer lies in the same mount as the working directory. */
static bool is_in_this_mount(const char *name)
{
	struct statx here, there;

	return statx(AT_FDCWD, ".", 0, STATX_MNT_ID, &here) == 0 &&
	       statx(AT_FDCWD, name, 0, STATX_MNT_ID, &there) == 0 &&
	       here.stx_mnt_id == there.stx_mnt_id;
}

/* Whether a name leads to the same directory from 'place' and from the working directory. */
static bool is_the_same(int place, const char *name)
{
	struct stat was, now;

	return fstatat(place, name, &was, 0) == 0 && fstatat(AT_FDCWD, name, &now, 0) == 0 &&
	       was.st_dev == now.st_dev && was.st_ino == now.st_ino;
}

/*
 * Map the ids of one layer.  The working directory maps ids already, so only a layer outside its
 * mount is covered by a copy.  'place' is the working directory as it was before it was covered.
 */
static int shift_layer(int place, const char *name, int ids, struct err *err)
{
	if (!is_in_this_mount(name)) {
		struct statx covering, found;
		owned_fd int tree = mounts_cover_shifted(name, ids, err);

		if (tree < 0)
			return tree;
		/* Some directories, such as the root, cannot be covered. */
		if (statx(tree, "", AT_EMPTY_PATH, STATX_MNT_ID, &covering) < 0 ||
			statx(AT_FDCWD, name, 0, STATX_MNT_ID, &found) < 0 ||
			covering.stx_mnt_id != found.stx_mnt_id)
			return err_set(err, ERR_UNSUPPORTED, "'%s' cannot be covered", name);
	}
	if (!is_the_same(place, name))
		return err_set(err, ERR_UNSUPPORTED, "something is mounted on '%s'", name);
	return 0;
}

/*
 * Uncover the first n layers.  Layers in the working directory's mount need no work: they are
 * uncovered when the caller leaves that directory.
 */
static void unshift_layers(const struct sandbox_root *root, size_t n)
{
	while (n--)
		if (!is_in_this_mount(root->lower[n]))
			(void)umount2(root->lower[n], MNT_DETACH);
}

/*
 * Map the ids of the layers.  An overlay takes its layers by name, so each layer is covered by a
 * copy of itself that maps ids.  Layers below the working directory are covered together, by one
 * copy that becomes the working directory.  The upper directory and the work directory must lie in
 * that one copy.
 */
static int shift_layers(const struct sandbox_root *root, int place, int ids, struct err *err)
{
	owned_fd int here = mounts_cover_shifted(".", ids, err);

	if (here < 0)
		return here;
	if (fchdir(here) < 0)
		return err_errno(err, "go to the layers");
	for (size_t i = 0; i < root->n_lower; i++)
		if (shift_layer(place, root->lower[i], ids, err) < 0) {
			unshift_layers(root, i);
			return -(int)err->code;
		}
	if (root->upper && !is_the_same(place, root->upper)) {
		unshift_layers(root, root->n_lower);
		return err_set(err, ERR_UNSUPPORTED, "something is mounted on '%s'", root->upper);
	}
	return 0;
}

/*
 * Make an overlay of layers whose ids are mapped.  An overlay accesses its layers with the ids of
 * the process that made the overlay.  So this process takes ids that the layers map, for as long as
 * it makes the overlay.
 */
static int overlay_shifted(const struct sandbox_root *root, int place, int ids, struct err *err)
{
	struct fsids before;
	struct err lost = { 0 };

	if (shift_layers(root, place, ids, err) < 0 ||
		fsids_take(IDS_FIRST, IDS_FIRST, &before, err) < 0)
		return -(int)err->code;
	owned_fd int tree = overlay_new(root, err);
	if (fsids_give_back(&before, &lost) < 0) {
		*err = lost;
		return -(int)err->code;
	}
	if (tree < 0)
		unshift_layers(root, root->n_lower);
	return tree < 0 ? tree : take_fd(&tree);
}

/*
 * Try to mount the root with the ids of ids.h.  If the kernel or a file system cannot do this,
 * records the reason, leaves building->root negative, and returns 0.  Root in the sandbox is then
 * root of the machine, and must not be allowed to mount anything.
 */
static int build_shifted(struct building *building, struct err *err)
{
	const struct sandbox_root *root = &building->plan->root;
	const int ids = building->ids->userns;
	struct err why = { 0 };
	owned_fd int place = at_open_given(".", O_PATH | O_DIRECTORY, 0, err);

	if (place < 0)
		return place;
	if (ids >= 0)
		building->root = root->n_lower ? overlay_shifted(root, place, ids, &why)
					       : directory_new(ids, &why);
	building->out->shifted = building->root >= 0;
	if (building->out->shifted)
		return 0;
	note_lack(building, "root inside is root of the machine, so that it can mount nothing: %s",
		ids < 0 ? building->ids->why : why.text);
	return fchdir(place) < 0 ? err_errno(err, "go to the layers") : 0;
}

/*
 * Mount the root of the sandbox.  Device files in it do not work, since root in the sandbox may be
 * root of the host, and must not reach the host's devices.
 */
static int build_root(struct building *building, struct err *err)
{
	const struct sandbox_root *root = &building->plan->root;

	if (building->ids->host_root && build_shifted(building, err) < 0)
		return -(int)err->code;
	if (building->root < 0)
		building->root = root->n_lower ? overlay_new(root, err) : directory_new(-1, err);
	if (building->root < 0)
		return building->root;
	if (root->read_only && mountcall_restrict(building->root, 0, MOUNT_ATTR_RDONLY) < 0)
		return err_errno(err, "make the root read-only");
	return 0;
}

/*
 * Mount a file system on a directory of the tree.  If the tree does not have the directory, records
 * the lack and returns false.
 */
static bool mount_on(struct building *building, int tree, const char *name)
{
	if (mountcall_attach(tree, building->root, name) == 0)
		return true;
	note_lack(building, "no /%s: the tree has no directory for it (%s)", name, strerror(errno));
	return false;
}

/* --------------------------------------------------------------------- /dev */

static const char *const dev_nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
static const struct {
	const char *name, *target;
} dev_links[] = {
	{ "ptmx", "pts/ptmx" },
	{ "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
};

/*
 * Mount a device node of the host.  The mount is read-only, so that chmod in the sandbox cannot
 * change the host's node.  The device works all the same.
 */
static int dev_node(struct building *building, int host, const char *name, struct err *err)
{
	uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	owned_fd int file = at_create(building->dev, name, O_WRONLY | O_EXCL, 0444, err);

	if (file < 0)
		return file;
	if (bind_copy(host, name, attr, building->dev, name) == 0)
		return 0;
	if (errno != ENOENT)
		return err_errno(err, "bind /dev/%s", name);
	note_lack(building, "no /dev/%s: the host has none", name);
	(void)unlinkat(building->dev, name, 0);
	return 0;
}

/* Make a file system in memory that belongs to root in the sandbox. */
static int tmpmountcall_new(
	const struct building *building, const char *mode, unsigned attr, struct err *err)
{
	char owner[ID_TEXT_MAX];
	const struct mountcall_option options[] = {
		{ "mode", mode },
		{ building->out->shifted ? "uid" : NULL, owner },
		{ "gid", owner },
		{ NULL, NULL },
	};

	snprintf(owner, sizeof(owner), "%u", IDS_FIRST);
	return mountcall_new("tmpfs", options, attr, err);
}

/* Mount a file system on a new directory in /dev. */
static int dev_mount(struct building *building, const char *name, int tree, struct err *err)
{
	if (mkdirat(building->dev, name, 0755) < 0)
		return err_errno(err, "make /dev/%s", name);
	return mountcall_attach(tree, building->dev, name) < 0
		       ? err_errno(err, "mount /dev/%s", name)
		       : 0;
}

/*
 * Provide /dev/fuse if the machine has it, so that programs of the sandbox can offer file systems.
 * On some machines only the machine's root may open the host's node.  No user of a sandbox with the
 * ids of ids.h is that root, so the node is made anew in such a sandbox.
 */
static int dev_fuse(struct building *building, int host, struct err *err)
{
	const char *name = "fuse";
	struct stat st;

	if (fstatat(host, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISCHR(st.st_mode))
		return 0;
	if (building->out->shifted && mknodat(building->dev, name, S_IFCHR | 0666, st.st_rdev) == 0)
		return fchmodat(building->dev, name, 0666, 0) < 0
			       ? err_errno(err, "make /dev/%s", name)
			       : 0;
	return dev_node(building, host, name, err);
}

static int fill_dev(struct building *building, struct err *err)
{
	static const struct mountcall_option pts[] = {
		{ "newinstance", NULL },
		{ "ptmxmode", "0666" },
		{ "mode", "0620" },
		{ NULL, NULL },
	};
	owned_fd int host = at_open_given("/dev", O_PATH | O_DIRECTORY, 0, err);

	if (host < 0)
		return host;
	for (size_t i = 0; i < sizeof(dev_nodes) / sizeof(dev_nodes[0]); i++)
		if (dev_node(building, host, dev_nodes[i], err) < 0)
			return -(int)err->code;
	if (dev_fuse(building, host, err) < 0)
		return -(int)err->code;
	for (size_t i = 0; i < sizeof(dev_links) / sizeof(dev_links[0]); i++)
		if (symlinkat(dev_links[i].target, building->dev, dev_links[i].name) < 0)
			return err_errno(err, "make /dev/%s", dev_links[i].name);
	owned_fd int terminals =
		mountcall_new("devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	if (terminals < 0 || dev_mount(building, "pts", terminals, err) < 0)
		return -(int)err->code;
	owned_fd int shared =
		tmpmountcall_new(building, "1777", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	return shared < 0 ? shared : dev_mount(building, "shm", shared, err);
}

static int build_dev(struct building *building, struct err *err)
{
	owned_fd int tree =
		tmpmountcall_new(building, "0755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);

	if (tree < 0)
		return tree;
	if (!mount_on(building, tree, "dev"))
		return 0;
	building->dev = take_fd(&tree);
	return fill_dev(building, err);
}

/* -------------------------------------------------------------------- /proc */

/*
 * Files of /proc that belong to root of the host obey any process with root's id, in any namespace.
 * So these files are covered if root in the sandbox has that id.  Otherwise nothing is covered, so
 * that root in the sandbox may mount /proc again in sandboxes of its own.
 */
static const char *const proc_read_only[] = { "acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys",
	"sysrq-trigger" };
static const char *const proc_masked[] = { "kcore", "keys", "kmsg", "kpagecgroup", "kpagecount",
	"kpageflags", "slabinfo", "timer_list", "vmallocinfo" };

/* Cover a file of /proc.  A file that this kernel does not have is left out. */
static int cover_proc_file(
	int proc, const char *name, int fromfd, const char *from, uint64_t attr, struct err *err)
{
	if (bind_copy(fromfd, from, attr, proc, name) < 0 && errno != ENOENT)
		return err_errno(err, "protect /proc/%s", name);
	return 0;
}

static int protect_proc(int proc, struct err *err)
{
	const uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

	for (size_t i = 0; i < sizeof(proc_read_only) / sizeof(proc_read_only[0]); i++)
		if (cover_proc_file(proc, proc_read_only[i], proc, proc_read_only[i],
			    attr | MOUNT_ATTR_NODEV, err) < 0)
			return -(int)err->code;
	for (size_t i = 0; i < sizeof(proc_masked) / sizeof(proc_masked[0]); i++)
		if (cover_proc_file(proc, proc_masked[i], AT_FDCWD, "/dev/null", attr, err) < 0)
			return -(int)err->code;
	return 0;
}

/*
 * Mount an empty directory on /proc, for a kernel that refuses a new /proc.  Without this mount,
 * files of the tree could pass for those of a real /proc.
 */
static int build_empty_proc(struct building *building, struct err *err)
{
	owned_fd int tree = mountcall_new("tmpfs", NULL, MOUNT_ATTR_RDONLY | MOUNTCALL_DATA, err);

	if (tree < 0)
		return tree;
	if (mount_on(building, tree, "proc"))
		note_lack(building,
			"/proc is empty: the host's is masked, so the kernel allows no new "
			"one");
	return 0;
}

static int build_proc(struct building *building, struct err *err)
{
	struct err refused = { 0 };
	owned_fd int tree = mountcall_new("proc", NULL, MOUNTCALL_DATA, &refused);

	if (tree < 0 && refused.errno_value == EPERM)
		return build_empty_proc(building, err);
	if (tree < 0) {
		*err = refused;
		return tree;
	}
	if (!mount_on(building, tree, "proc"))
		return 0;
	building->out->proc = take_fd(&tree);
	if (building->ids->host_root && !building->out->shifted)
		return protect_proc(building->out->proc, err);
	return 0;
}

/* --------------------------------------------------------------------- /sys */

/*
 * Copy the host's /sys.  Only root may leave out the mounts in it (cgroups, debugging).  For other
 * users the kernel locks these mounts to /sys, so the copy has to include them.
 */
static int copy_host_sys(void)
{
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	int tree = open_tree(AT_FDCWD, "/sys", flags);

	if (tree < 0 && errno == EINVAL)
		tree = open_tree(AT_FDCWD, "/sys", flags | AT_RECURSIVE);
	return tree;
}

static int build_sys(struct building *building, struct err *err)
{
	struct err refused = { 0 };
	/*
	 * If the sandbox has a network namespace of its own, /sys must show the devices of that
	 * namespace.
	 */
	owned_fd int tree =
		building->plan->no_net
			? mountcall_new("sysfs", NULL, MOUNT_ATTR_RDONLY | MOUNTCALL_DATA, &refused)
			: copy_host_sys();

	if (tree < 0) {
		note_lack(building, "no /sys: %s", *refused.text ? refused.text : strerror(errno));
		return 0;
	}
	if (mountcall_restrict(tree, AT_RECURSIVE, MOUNT_ATTR_RDONLY | MOUNTCALL_DATA) < 0)
		return err_errno(err, "make /sys read-only");
	(void)mount_on(building, tree, "sys");
	return 0;
}

/* --------------------------------------------------------------- resolv.conf */

#define RESOLV_COPY ".resolv.conf"

/* Copy the host's resolv.conf to a temporary name in the new /dev. */
static int copy_resolv(struct building *building, const struct buf *text, struct err *err)
{
	owned_fd int copy = at_create(building->dev, RESOLV_COPY, O_WRONLY | O_EXCL, 0444, err);

	if (copy < 0)
		return copy;
	errno = -at_write_all(copy, text->data, text->len);
	return errno ? err_errno(err, "copy resolv.conf") : 0;
}

/*
 * Mount a copy of the host's resolv.conf.  The host's own file is then out of reach.  The sandbox
 * does not see later changes on the host.  A mount of the host's file would seldom show them
 * either, because most programs replace the file, and the old file would stay mounted.  The mount
 * covers the name itself, whether it is a file or a dangling link.
 */
static int build_resolv(struct building *building, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err reason = { 0 };
	int r;

	if (procfile_read("/etc/resolv.conf", RESOLV_MAX, &text, &reason) < 0)
		return 0; /* the tree may have a file of its own */
	owned_fd int etc = at_open(building->root, "etc", O_PATH | O_DIRECTORY, &reason);
	if (etc < 0 || building->dev < 0) {
		note_lack(building, "no resolv.conf: %s",
			etc < 0 ? reason.text : "without /dev there is no place for a copy");
		return 0;
	}
	r = copy_resolv(building, &text, err);
	if (r == 0 && bind_copy(building->dev, RESOLV_COPY, MOUNT_ATTR_RDONLY | MOUNTCALL_DATA, etc,
			      "resolv.conf") < 0)
		note_lack(building, "no resolv.conf: the tree has no file for it (%s)",
			strerror(errno));
	(void)unlinkat(building->dev, RESOLV_COPY, 0);
	return r;
}

/* ---------------------------------------------------------------------- all */

int mounts_unshare(struct err *err)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };

	if (unshare(CLONE_NEWNS) < 0)
		return err_errno(err, "make a mount namespace");
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof(private)) == 0)
		return 0;
	err_errno(err, "make the mounts private");
	return err->errno_value == ENOSYS ? err_hint(err, "sandboxes need Linux 5.12")
					  : -(int)err->code;
}

int mounts_build(const struct sandbox_plan *plan, const struct mounts_ids *ids, struct mounts *out,
	struct err *err)
{
	struct building building = { .plan = plan, .out = out, .root = -1, .dev = -1, .ids = ids };
	int r = 0;

	*out = (struct mounts){ .proc = -1 };
	if (mounts_unshare(err) < 0 || build_root(&building, err) < 0 ||
		build_dev(&building, err) < 0 || build_proc(&building, err) < 0 ||
		build_sys(&building, err) < 0 || build_resolv(&building, err) < 0 ||
		mountcall_become_root(building.root, err) < 0)
		r = -(int)err->code;
	close_fd(&building.root);
	close_fd(&building.dev);
	return r;
}
