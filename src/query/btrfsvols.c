#include "query/btrfsvols.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/at.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/mountinfo.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/when.h"
#include "query/btrfsquota.h"
#include "query/keytable.h"

#define MOUNTS_TEXT_MAX ((size_t)16 << 20)
#define VOLUMES_MAX 200000
#define DEPTH_MAX 64 /* nesting of subvolumes; each level keeps a descriptor open */
#define ROOT_INO 256 /* inode number of the top directory of every subvolume */
#define FRESH_MAX WHEN_SECOND
#define FS_SHIFT 48 /* the id of a subvolume has at most this many bits */

struct scan {
	struct btrfsvols *vols;
	struct keytable known; /* from (file system, id) to an index in the list */
	size_t fs;             /* index of the file system that is scanned */
	struct err first;      /* the first error of a mount that could not be scanned */
	unsigned depth;
};

static const uint8_t no_uuid[BTRFSVOLS_UUID];

bool btrfsvols_has(const uint8_t uuid[BTRFSVOLS_UUID])
{
	return memcmp(uuid, no_uuid, sizeof(no_uuid)) != 0;
}

void btrfsvols_release(struct btrfsvols *vols)
{
	free(vols->list);
	free(vols->paths);
	free(vols->hidden);
	free(vols->fs);
	arena_release(&vols->arena);
	*vols = (struct btrfsvols){ 0 };
}

/* -------------------------------------------------------------- asking the kernel */

static int ask_info(int fd, struct btrfs_ioctl_get_subvol_info_args *info, struct err *err)
{
	if (ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, info) >= 0)
		return 0;
	if (errno != ENOTTY)
		return err_errno(err, "look up a subvolume");
	return err_set_number(
		err, ENOTTY, "the kernel cannot look up subvolumes (Linux 4.18 or later can)");
}

static int ask_fs(int fd, struct btrfs_ioctl_fs_info_args *fs, struct err *err)
{
	fs->flags = BTRFS_FS_INFO_FLAG_GENERATION;
	return ioctl(fd, BTRFS_IOC_FS_INFO, fs) < 0 ? err_errno(err, "look up a file system") : 0;
}

static int read_mounts(struct buf *text, uint64_t *hash, struct err *err)
{
	struct hash of;

	if (procfile_read("/proc/self/mountinfo", MOUNTS_TEXT_MAX, text, err) < 0)
		return -(int)err->code;
	hash_of(text->data ?: "", text->len, &of);
	memcpy(hash, of.bytes, sizeof(*hash));
	return 0;
}

/* -------------------------------------------------------------- one subvolume */

static const char *child_path(struct scan *scan, const char *path, const char *rest)
{
	return arena_printf(&scan->vols->arena, "%s/%s", strcmp(path, "/") ? path : "", rest);
}

static void add_path(struct scan *scan, const char *path, size_t vol)
{
	struct btrfsvols *vols = scan->vols;

	mem_grow(&vols->paths, &vols->cap_paths, vols->n_paths);
	vols->paths[vols->n_paths++] = (struct btrfsvol_path){ path, vol };
}

/* Returns the index of the subvolume.  *made becomes true if it was found for the first time. */
static size_t add_volume(struct scan *scan, const struct btrfs_ioctl_get_subvol_info_args *info,
	const char *path, bool *made)
{
	struct btrfsvols *vols = scan->vols;
	uint64_t key = ((uint64_t)(scan->fs + 1) << FS_SHIFT) + info->treeid;
	size_t index = *keytable_at(&scan->known, key, (uint32_t)vols->n, made);

	add_path(scan, path, index);
	if (!*made)
		return index;
	mem_grow(&vols->list, &vols->cap, vols->n);
	struct btrfsvol *vol = &vols->list[vols->n++];
	*vol = (struct btrfsvol){
		.fs = scan->fs,
		.id = info->treeid,
		.read_only = info->flags & BTRFS_ROOT_SUBVOL_RDONLY,
		.creation = when_of((int64_t)info->otime.sec, info->otime.nsec),
		.used = -1,
		.refer = -1,
		.path = path,
	};
	memcpy(vol->uuid, info->uuid, sizeof(vol->uuid));
	memcpy(vol->parent, info->parent_uuid, sizeof(vol->parent));
	memcpy(vol->received, info->received_uuid, sizeof(vol->received));
	return index;
}

static void add_hidden(struct scan *scan, size_t in, const char *name)
{
	struct btrfsvols *vols = scan->vols;

	if (in == BTRFSVOLS_NONE)
		return;
	mem_grow(&vols->hidden, &vols->cap_hidden, vols->n_hidden);
	vols->hidden[vols->n_hidden++] =
		(struct btrfsvol_hidden){ in, arena_strdup(&vols->arena, name) };
}

static int scan_dir(struct scan *scan, int fd, const char *path, struct err *err);

/*
 * Whether fd, which was opened below the directory 'dir', is the subvolume 'id'.  fd can also be a
 * mount that covers the subvolume, or a directory that has replaced the subvolume.
 */
static bool is_child(int dir, int fd, uint64_t id)
{
	struct btrfs_ioctl_get_subvol_info_args info = { 0 };
	struct statx outer, inner;
	struct err none = { 0 };

	return at_fd_stat(dir, &outer) >= 0 && at_fd_stat(fd, &inner) >= 0 &&
	       outer.stx_mnt_id == inner.stx_mnt_id && inner.stx_ino == ROOT_INO &&
	       ask_info(fd, &info, &none) >= 0 && info.treeid == id;
}

/* Scan the subvolume 'id', which lies in the directory with the inode number dir_ino below fd. */
static int scan_child(struct scan *scan, int fd, const char *path, size_t in, uint64_t id,
	uint64_t dir_ino, struct err *err)
{
	struct btrfs_ioctl_ino_lookup_user_args lookup = { .dirid = dir_ino, .treeid = id };
	owned(buf_release) struct buf rest = BUF_INIT;
	struct err why = { 0 };

	if (ioctl(fd, BTRFS_IOC_INO_LOOKUP_USER, &lookup) < 0) {
		if (errno == EACCES)
			add_hidden(scan, in, "");
		return 0;
	}
	/* The path of the directory is empty or ends in '/'. */
	buf_addf(&rest, "%.*s%.*s", (int)sizeof(lookup.path), lookup.path, (int)sizeof(lookup.name),
		lookup.name);
	owned_fd int child = at_open(fd, rest.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, &why);
	if (child < 0) {
		if (why.code == ERR_SYSTEM && why.errno_value == EACCES)
			add_hidden(scan, in, rest.data);
		return 0;
	}
	/*
	 * Only ERR_LIMIT ends the scan.  After any other error, such as a subvolume that was
	 * removed meanwhile, the scan continues with the next subvolume.
	 */
	if (is_child(fd, child, id) &&
		scan_dir(scan, child, child_path(scan, path, rest.data), &why) < 0 &&
		why.code == ERR_LIMIT)
		*err = why;
	return -(int)err->code;
}

static int scan_children(struct scan *scan, int fd, const char *path, size_t in, struct err *err)
{
	struct btrfs_ioctl_get_subvol_rootref_args refs = { 0 };
	bool more;

	do {
		more = ioctl(fd, BTRFS_IOC_GET_SUBVOL_ROOTREF, &refs) < 0;
		if (more && errno != EOVERFLOW)
			return err_errno(err, "list the subvolumes in '%.200s'", path);
		for (unsigned i = 0; i < refs.num_items; i++)
			if (scan_child(scan, fd, path, in, refs.rootref[i].treeid,
				    refs.rootref[i].dirid, err) < 0)
				return -(int)err->code;
	} while (more);
	return 0;
}

/* Scan the directory fd.  It is a whole subvolume or a part of a subvolume. */
static int scan_dir(struct scan *scan, int fd, const char *path, struct err *err)
{
	struct btrfs_ioctl_get_subvol_info_args info = { 0 };
	size_t index = BTRFSVOLS_NONE;
	struct statx stx;
	bool made = true;

	if (ask_info(fd, &info, err) < 0)
		return -(int)err->code;
	if (at_fd_stat(fd, &stx) >= 0 && stx.stx_ino == ROOT_INO)
		index = add_volume(scan, &info, path, &made);
	if (scan->vols->n > VOLUMES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d subvolumes", VOLUMES_MAX);
	if (!made || scan->depth >= DEPTH_MAX)
		return 0;
	scan->depth++;
	int r = scan_children(scan, fd, path, index, err);
	scan->depth--;
	return r;
}

/* -------------------------------------------------------------- all mounts */

struct mounts {
	struct buf text;
	struct mountinfo *list;
	size_t n, cap;
};

static void free_mounts(struct mounts *mounts)
{
	buf_release(&mounts->text);
	free(mounts->list);
}

static size_t count_names(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += path[0] == '/' && path[1];
	return n;
}

/*
 * Order mounts so that the best path of a subvolume is found first.  A mount that shows a directory
 * deep in the file system gives a better path than a mount of the top directory, which
 * administrators mount for maintenance.
 */
static int compare_mounts(const void *a, const void *b)
{
	const struct mountinfo *x = a, *y = b;
	size_t x_depth = count_names(x->root), y_depth = count_names(y->root);

	if (x_depth != y_depth)
		return x_depth > y_depth ? -1 : 1;
	x_depth = count_names(x->point);
	y_depth = count_names(y->point);
	if (x_depth != y_depth)
		return x_depth < y_depth ? -1 : 1;
	return strcmp(x->point, y->point);
}

/*
 * Forget the mounts at a mount point over which another file system is mounted.  The path of the
 * mount point leads to that file system, and opening this path could take long.
 */
static void drop_covered(struct mounts *mounts, const char *point)
{
	size_t n = 0;

	for (size_t i = 0; i < mounts->n; i++)
		if (strcmp(mounts->list[i].point, point) != 0)
			mounts->list[n++] = mounts->list[i];
	mounts->n = n;
}

static int find_mounts(struct mounts *mounts, uint64_t *hash, struct err *err)
{
	struct mountinfo mount;

	if (read_mounts(&mounts->text, hash, err) < 0)
		return -(int)err->code;
	for (char *rest = mounts->text.data; mountinfo_next(&rest, &mount);) {
		drop_covered(mounts, mount.point);
		if (strcmp(mount.type, "btrfs") != 0)
			continue;
		mem_grow(&mounts->list, &mounts->cap, mounts->n);
		mounts->list[mounts->n++] = mount;
	}
	if (mounts->n)
		qsort(mounts->list, mounts->n, sizeof(*mounts->list), compare_mounts);
	return 0;
}

static int enter_fs(struct scan *scan, int fd, const char *point, struct err *err)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	struct btrfsvols *vols = scan->vols;

	if (ask_fs(fd, &info, err) < 0)
		return -(int)err->code;
	for (scan->fs = 0; scan->fs < vols->n_fs; scan->fs++)
		if (!memcmp(vols->fs[scan->fs].id, info.fsid, BTRFSVOLS_UUID))
			return 0;
	mem_grow(&vols->fs, &vols->cap_fs, vols->n_fs);
	struct btrfsvol_fs *fs = &vols->fs[vols->n_fs++];
	*fs = (struct btrfsvol_fs){
		.generation = info.generation,
		.mount = arena_strdup(&vols->arena, point),
	};
	memcpy(fs->id, info.fsid, sizeof(fs->id));
	return 0;
}

/*
 * Scan a mount.  If 'whole' is set, only a mount of a whole subvolume is scanned.  Otherwise only a
 * mount of a part of a subvolume is scanned.
 */
static int scan_mount(struct scan *scan, const struct mountinfo *mount, bool whole, struct err *err)
{
	owned_fd int fd = at_abs_open(mount->point, O_RDONLY | O_DIRECTORY);
	struct err why = { 0 };
	struct statx stx;

	if (fd < 0)
		err_number(&why, -fd, "open '%.200s'", mount->point);
	else if (at_fd_stat(fd, &stx) < 0 || (stx.stx_ino == ROOT_INO) != whole)
		return 0;
	else if (enter_fs(scan, fd, mount->point, &why) >= 0)
		(void)scan_dir(scan, fd, arena_strdup(&scan->vols->arena, mount->point), &why);
	if (why.code && !scan->first.code)
		scan->first = why;
	if (why.code == ERR_LIMIT)
		*err = why;
	return -(int)err->code;
}

static void read_quota(struct btrfsvols *vols, size_t fs)
{
	owned(btrfsquota_release) struct btrfsquota quota = { 0 };
	owned_fd int fd = at_abs_open(vols->fs[fs].mount, O_RDONLY | O_DIRECTORY);

	if (fd >= 0)
		btrfsquota_read(&quota, fd);
	for (size_t i = 0; quota.n && i < vols->n; i++) {
		struct btrfsvol *vol = &vols->list[i];
		const struct btrfsquota_usage *usage =
			vol->fs == fs ? btrfsquota_get(&quota, vol->id) : NULL;

		if (!usage)
			continue;
		vol->used = (int64_t)usage->used;
		vol->refer = (int64_t)usage->refer;
	}
}

static int compare_paths(const void *a, const void *b)
{
	const struct btrfsvol_path *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int btrfsvols_scan(struct btrfsvols *vols, struct err *err)
{
	owned(free_mounts) struct mounts mounts = { .text = BUF_INIT };
	struct scan scan = { .vols = vols };
	int r;

	btrfsvols_release(vols);
	vols->time = when_monotonic();
	r = find_mounts(&mounts, &vols->mount_hash, err);
	vols->mounts = mounts.n;
	for (int whole = 1; whole >= 0; whole--)
		for (size_t i = 0; r >= 0 && i < mounts.n; i++)
			r = scan_mount(&scan, &mounts.list[i], whole, err);
	keytable_release(&scan.known);
	for (size_t i = 0; i < vols->n_fs; i++)
		read_quota(vols, i);
	if (vols->n_paths)
		qsort(vols->paths, vols->n_paths, sizeof(*vols->paths), compare_paths);
	if (r >= 0 && !vols->n && scan.first.code)
		*err = scan.first;
	return -(int)err->code;
}

bool btrfsvols_fresh(const struct btrfsvols *vols)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err none = { 0 };
	uint64_t hash;

	if (!vols->time || when_monotonic() - vols->time > FRESH_MAX ||
		read_mounts(&text, &hash, &none) < 0 || hash != vols->mount_hash)
		return false;
	for (size_t i = 0; i < vols->n_fs; i++) {
		struct btrfs_ioctl_fs_info_args info = { 0 };
		owned_fd int fd = at_abs_open(vols->fs[i].mount, O_RDONLY | O_DIRECTORY);

		if (fd < 0 || ask_fs(fd, &info, &none) < 0 ||
			!(info.flags & BTRFS_FS_INFO_FLAG_GENERATION) ||
			info.generation != vols->fs[i].generation)
			return false;
	}
	return true;
}

/* ------------------------------------------------------ finding a subvolume */

size_t btrfsvols_at(const struct btrfsvols *vols, const char *path)
{
	struct btrfsvol_path key = { .path = path };
	const struct btrfsvol_path *found =
		vols->n_paths
			? bsearch(&key, vols->paths, vols->n_paths, sizeof(key), compare_paths)
			: NULL;

	return found ? found->vol : BTRFSVOLS_NONE;
}

int btrfsvols_open(const struct btrfsvols *vols, const struct btrfsvol *vol, struct err *err)
{
	owned_fd int fd = at_abs_open(vol->path, O_RDONLY | O_DIRECTORY);
	struct btrfs_ioctl_get_subvol_info_args info = { 0 };
	struct btrfs_ioctl_fs_info_args fs = { 0 };
	struct err none = { 0 };
	struct statx stx;

	if (fd == -EACCES)
		return err_number(err, EACCES, "open the snapshot '%.200s'", vol->path);
	if (fd < 0 || at_fd_stat(fd, &stx) < 0 || stx.stx_ino != ROOT_INO ||
		ask_info(fd, &info, &none) < 0 || info.treeid != vol->id ||
		memcmp(info.uuid, vol->uuid, sizeof(vol->uuid)) != 0 ||
		ask_fs(fd, &fs, &none) < 0 ||
		memcmp(fs.fsid, vols->fs[vol->fs].id, BTRFSVOLS_UUID) != 0)
		return err_set(err, ERR_NOT_FOUND, "the subvolume '%.200s' is gone", vol->path);
	return take_fd(&fd);
}
