/*
 * btrfs - the live tree is a subvolume.
 *
 * Changes are found by generation.  With an index goes a mark: the generation the
 * subvolume was at when the walk began, and the tree that came of it.  A
 * capture first has everything written out that is still in memory, which costs
 * what is dirty on this file system, and then looks at the generation.  If it is
 * that of the mark, nothing came since, and the tree is known.  Else root can ask which
 * inodes are younger than the mark, and only they are looked at; others walk.
 * What comes after the look, be it during the walk, has a later generation
 * (subvolume.h) and is found by the next capture: nothing is missed.  At worst a
 * walk is for nothing, as when it was a symbolic link's time of access that moved.
 * The mark is an extended attribute of the index file: both come and go together.
 *
 * A fork is a snapshot, which costs one transaction, whatever the size of the tree.
 * It has the inode numbers and times of its origin, so a copy of the origin's
 * index is right for it, provided that was made before: afterwards both give the
 * same numbers to files of their own.  Whether it is the tree of the origin's mark is
 * seen in the snapshot, where nothing moves any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "workspace/indexed.h"
#include "workspace/livedir.h"
#include "workspace/subvolume.h"

#define MARK_ATTR "user.strata.mark"

/* When the subvolume is there, it holds the tree, and the index is right. */
struct mark {
	struct subvolume at;
	struct hash exclude; /* the patterns the tree depends on, too */
	struct hash tree;
};
_Static_assert(sizeof(struct mark) == 96, "compared and stored as it is, without gaps");

struct btrfs {
	struct mark mark; /* of the capture that is not settled yet */
	bool marked;
};

/* ------------------------------------------------------------------ probing */

static const char *file_system_name(long type)
{
	static const struct {
		long type;
		const char *name;
	} known[] = {
		{ EXT4_SUPER_MAGIC, "ext4" },
		{ XFS_SUPER_MAGIC, "xfs" },
		{ TMPFS_MAGIC, "tmpfs" },
		{ OVERLAYFS_SUPER_MAGIC, "overlayfs" },
		{ F2FS_SUPER_MAGIC, "f2fs" },
		{ NFS_SUPER_MAGIC, "nfs" },
		{ 0x2fc12fc1, "zfs" },
		{ 0xca451a4e, "bcachefs" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type)
			return known[i].name;
	return NULL;
}

static int probe_btrfs(int rootfd, char why[WORKSPACE_WHY_MAX])
{
	struct err err = { 0 };
	struct statfs fs = { 0 };
	char name[64];

	if (fstatfs(rootfd, &fs) < 0 || fs.f_type != BTRFS_SUPER_MAGIC) {
		const char *is = file_system_name(fs.f_type);

		snprintf(why, WORKSPACE_WHY_MAX, "this file system is %s%snot btrfs", is ? is : "",
			is ? ", " : "");
		return 0;
	}
	snprintf(name, sizeof(name), ".probe-%d", (int)getpid());
	if (subvolume_make(rootfd, name, &err) < 0) {
		snprintf(why, WORKSPACE_WHY_MAX, "subvolumes cannot be made here (%s)",
			strerror(err.errno_value));
		return 0;
	}
	if (subvolume_delete(rootfd, name, &err) == 0)
		return 1;
	/* An empty one may be removed like a directory. */
	(void)unlinkat(rootfd, name, AT_REMOVEDIR);
	snprintf(why, WORKSPACE_WHY_MAX, "subvolumes cannot be deleted here (%s)",
		err.errno_value == EPERM ? "mount option user_subvol_rm_allowed is missing"
					 : strerror(err.errno_value));
	return 0;
}

/* ------------------------------------------------------- the place of the tree */

static int make_live(int dirfd, const char *name, struct err *err)
{
	int r = subvolume_make(dirfd, name, err);

	if (r < 0)
		return r;
	r = at_name_chmod(dirfd, name, 0700);
	if (r < 0) {
		errno = -r;
		return err_errno(err, "make subvolume '%s'", name);
	}
	return 0;
}

/*
 * Deleting takes rights that may have gone since it was made, and leaves
 * subvolumes a program made inside: then it is emptied like any directory.
 */
static int remove_live(int dirfd, const char *name, struct err *err)
{
	struct err ignored = { 0 };
	owned_fd int live = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, &ignored);

	/* One that is read-only only root can delete, and nobody can empty. */
	if (live >= 0)
		(void)subvolume_make_writable(live, &ignored);
	if (subvolume_delete(dirfd, name, &ignored) == 0)
		return 0;
	return at_remove_tree(dirfd, name, err);
}

static int open_btrfs(struct workspace *ws, struct err *err)
{
	ws->own = mem_zalloc(sizeof(struct btrfs));
	return livedir_open(ws, make_live, err);
}

static void close_btrfs(struct workspace *ws)
{
	livedir_close(ws);
	free(ws->own);
	ws->own = NULL;
}

static int destroy_btrfs(struct workspace *ws, struct err *err)
{
	return livedir_destroy(ws, remove_live, err);
}

/* ----------------------------------------------------------------- the mark */

static void hash_exclude(const struct workspace *ws, struct hash *hash)
{
	owned(buf_release) struct buf all = BUF_INIT;

	memset(hash, 0, sizeof(*hash));
	for (size_t i = 0; i < ws->setup.n_exclude; i++)
		buf_add(&all, ws->setup.exclude[i], strlen(ws->setup.exclude[i]) + 1);
	if (all.len)
		hash_of(all.data, all.len, hash);
}

static bool read_mark(int index, const char *name, struct mark *mark)
{
	return at_xattr_get(index, name, MARK_ATTR, mark, sizeof(*mark)) == sizeof(*mark);
}

static bool write_mark(int index, const char *name, const struct mark *mark)
{
	return at_xattr_set(index, name, MARK_ATTR, mark, sizeof(*mark)) == 0;
}

/* Whether nothing lies between the two but the tree, which only one of them knows. */
static bool same_place(const struct mark *a, const struct mark *b)
{
	return !memcmp(&a->at, &b->at, sizeof(a->at)) && hash_eq(&a->exclude, &b->exclude);
}

/* Where the live tree is now, all that was done to it before included; false: it cannot be told. */
static bool look(const struct workspace *ws, struct mark *mark)
{
	struct err ignored = { 0 };

	hash_exclude(ws, &mark->exclude);
	return subvolume_is(ws->live) && syncfs(ws->live) == 0 &&
	       subvolume_look(ws->live, &mark->at, &ignored) == 0 &&
	       subvolume_nested(ws->live, &ignored) == 0;
}

/* ---------------------------------------------------------------- capturing */

static uint64_t reported(const struct report *report)
{
	uint64_t n = 0;

	for (size_t kind = 0; kind < REPORT_KINDS; kind++)
		n += report->count[kind];
	return n;
}

/* The inodes to look at, if that can be told. */
static bool list_changed(const struct workspace *ws, struct scan_inodes *changed)
{
	const struct btrfs *btrfs = ws->own;
	struct err ignored = { 0 };
	struct mark last;

	return btrfs->marked && read_mark(ws->index, ws->setup.name, &last) &&
	       !memcmp(last.at.uuid, btrfs->mark.at.uuid, SUBVOLUME_UUID) &&
	       hash_eq(&last.exclude, &btrfs->mark.exclude) &&
	       subvolume_changed(
		       ws->live, last.at.generation, &changed->list, &changed->n, &ignored) == 0;
}

/* Look for what changed.  When not everything could be seen, the next one cannot go by this one. */
static int walk(struct workspace *ws, struct indexed_how how, struct hash *tree, struct err *err)
{
	struct btrfs *btrfs = ws->own;
	uint64_t before = ws->setup.report ? reported(ws->setup.report) : 0;
	struct scan_inodes changed = { 0 };

	if (list_changed(ws, &changed))
		how.changed = &changed;
	int r = indexed_capture(ws, &how, tree, err);
	free(changed.list);
	if (r < 0 || !ws->setup.report || reported(ws->setup.report) != before)
		btrfs->marked = false;
	else
		btrfs->mark.tree = *tree;
	return r;
}

static int capture_btrfs(struct workspace *ws, struct hash *tree, struct err *err)
{
	struct btrfs *btrfs = ws->own;
	struct err ignored = { 0 };
	struct mark last;

	btrfs->marked = look(ws, &btrfs->mark);
	if (btrfs->marked && read_mark(ws->index, ws->setup.name, &last) &&
		same_place(&last, &btrfs->mark) &&
		store_has(ws->setup.store, OBJECT_TREE, &last.tree, &ignored) == 1) {
		indexed_drop(ws);
		*tree = last.tree;
		return 0;
	}
	return walk(ws, (struct indexed_how){ 0 }, tree, err);
}

static int settle_btrfs(struct workspace *ws, struct err *err)
{
	struct btrfs *btrfs = ws->own;

	/* A walk for nothing leaves the index as it is, but not again. */
	if (btrfs->marked && ws->temp[0])
		(void)write_mark(ws->index, ws->same ? ws->setup.name : ws->temp, &btrfs->mark);
	return indexed_settle(ws, err);
}

static int keep(struct workspace *ws, struct err *err)
{
	int r = store_flush(ws->setup.store, err);

	return r < 0 ? r : settle_btrfs(ws, err);
}

static int apply(struct workspace *ws, const struct hash *from, const struct hash *to, int donor,
	struct hash *now, struct err *err)
{
	struct btrfs *btrfs = ws->own;
	owned(applied_release) struct applied applied = APPLIED_INIT;
	struct indexed_how how = { .adopt = to, .applied = &applied };
	/* A live tree that somebody has made read-only is rolled back all the same. */
	int r = subvolume_make_writable(ws->live, err);

	if (r >= 0)
		r = livedir_apply(ws, from, to, donor, &applied, err);
	if (r < 0)
		return r;
	btrfs->marked = look(ws, &btrfs->mark);
	r = walk(ws, how, now, err);
	return r < 0 ? r : keep(ws, err);
}

static int apply_btrfs(struct workspace *ws, const struct hash *from, const struct hash *to,
	struct hash *now, struct err *err)
{
	return apply(ws, from, to, -1, now, err);
}

/* ------------------------------------------------------------------ forking */

/* The live tree a snapshot is to be made of. */
struct origin {
	int fd;
	int index; /* the file, or -1; owned: its mark is about no other */
	struct mark mark;
	bool marked;
	bool known; /* the mark was true when last looked */
};

static void origin_release(struct origin *origin)
{
	close_fd(&origin->index);
}

/* Whether the workspace called name, of this environment, lives in fd. */
static bool lives_in(int work, const char *name, int fd)
{
	struct statx there, here;

	return workspace_name_ok(name) && at_name_stat(work, name, &there) == 0 &&
	       at_fd_stat(fd, &here) == 0 && there.stx_ino == here.stx_ino &&
	       there.stx_dev_major == here.stx_dev_major &&
	       there.stx_dev_minor == here.stx_dev_minor;
}

static bool find_origin(
	const struct workspace *ws, int work, int index, int donor, struct origin *origin)
{
	struct err ignored = { 0 };
	struct mark now = { 0 };

	/* What the tree leaves out must not come along; subvolumes inside would not. */
	if (donor < 0 || ws->setup.n_exclude || !subvolume_is(donor) ||
		subvolume_nested(donor, &ignored) != 0)
		return false;
	owned_mem char *path = at_path_of(donor, &ignored);
	const char *name = path ? strrchr(path, '/') : NULL;
	if (!name || !lives_in(work, name + 1, donor))
		return false;
	origin->fd = donor;
	origin->index = at_name_read(index, name + 1);
	origin->marked = origin->index >= 0 &&
			 fgetxattr(origin->index, MARK_ATTR, &origin->mark, sizeof(origin->mark)) ==
				 sizeof(origin->mark) &&
			 store_has(ws->setup.store, OBJECT_TREE, &origin->mark.tree, &ignored) == 1;
	/* A change that was not committed when the mark was made may have been one of several. */
	origin->known = origin->marked && origin->mark.at.changed <= origin->mark.at.generation &&
			subvolume_look(donor, &now.at, &ignored) == 0 &&
			same_place(&origin->mark, &now);
	return true;
}

static bool copy_index(const struct origin *origin, int index, const char *to)
{
	struct err ignored = { 0 };

	if (origin->index < 0)
		return false;
	(void)unlinkat(index, to, 0);
	owned_fd int copy = at_create(index, to, O_WRONLY | O_EXCL, 0600, &ignored);
	return copy >= 0 && ioctl(copy, FICLONE, origin->index) == 0;
}

/*
 * Give the copied index a mark.  True when the snapshot, which is at now, is the
 * tree of the origin's: that was true before, and no change came until the
 * snapshot was made.  If not, what changed is younger than the origin's mark here, too.
 */
static bool pass_mark_on(const struct workspace *ws, const char *copy, const struct origin *origin,
	const struct subvolume *now)
{
	struct mark mark = origin->mark;
	bool known = origin->known && now->changed == mark.at.changed;

	if (known)
		mark.at = *now;
	else
		memcpy(mark.at.uuid, now->uuid, SUBVOLUME_UUID);
	return origin->marked && write_mark(ws->index, copy, &mark) && known;
}

/*
 * The snapshot, which was at then, was found to be as the origin's index
 * says.  If nothing came to the origin since, its mark is true where the origin
 * is now: to be copied has moved its generation.
 */
static void renew_mark(struct origin *origin, const struct subvolume *then)
{
	struct err ignored = { 0 };
	struct subvolume now;

	if (!origin->marked || subvolume_look(origin->fd, &now, &ignored) < 0 ||
		now.changed != then->changed)
		return;
	origin->mark.at = now;
	(void)fsetxattr(origin->index, MARK_ATTR, &origin->mark, sizeof(origin->mark), 0);
}

/* Open the snapshot, with a copy of the origin's index; *tree is what it holds. */
static int open_fork(struct workspace *ws, struct origin *origin, const char *copy,
	struct hash *tree, struct err *err)
{
	struct subvolume then;
	int r = workspace_open(ws, err);

	if (r >= 0)
		r = subvolume_look(ws->live, &then, err);
	if (r < 0)
		return r;
	bool known = copy && pass_mark_on(ws, copy, origin, &then);
	if (copy)
		r = at_rename(ws->index, copy, ws->setup.name, err);
	if (known)
		*tree = origin->mark.tree;
	else if (r >= 0)
		r = capture_btrfs(ws, tree, err);
	bool as_indexed = known || (r >= 0 && copy && ws->same);
	if (r >= 0 && !known)
		r = keep(ws, err);
	if (as_indexed)
		renew_mark(origin, &then);
	return r;
}

/* Make the live tree a snapshot of another: 1, and *tree is what it holds, or 0 it cannot be. */
static int fork_live(struct workspace *ws, int work, int donor, struct hash *tree, struct err *err)
{
	char copy[WORKSPACE_NAME_MAX + 2];
	struct err ignored = { 0 };
	owned(origin_release) struct origin origin = { .index = -1 };
	owned_fd int index =
		at_open(ws->setup.rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY, err);

	if (index < 0)
		return index;
	if (!find_origin(ws, work, index, donor, &origin))
		return 0;
	snprintf(copy, sizeof(copy), ".%s", ws->setup.name);
	bool copied = copy_index(&origin, index, copy);
	if (subvolume_snapshot(donor, work, ws->setup.name, &ignored) < 0) {
		(void)unlinkat(index, copy, 0);
		return 0;
	}
	int r = open_fork(ws, &origin, copied ? copy : NULL, tree, err);
	return r < 0 ? r : 1;
}

static int create_btrfs(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	struct hash found, now;

	if (ws->setup.path)
		return workspace_open(ws, err);
	owned_fd int work = livedir_work(ws, err);
	/* Nobody knows a workspace of this name yet: what is there was left by one that died. */
	int r = work < 0 ? work : remove_live(work, ws->setup.name, err);
	if (r >= 0)
		r = fork_live(ws, work, donor, &found, err);
	if (r > 0)
		return hash_eq(&found, tree) ? 0 : apply(ws, &found, tree, -1, &now, err);
	if (r == 0)
		r = make_live(work, ws->setup.name, err);
	if (r >= 0)
		r = workspace_open(ws, err);
	return r < 0 ? r : apply(ws, NULL, tree, donor, &now, err);
}

const struct workspace_backend workspace_btrfs = {
	.kind = { .name = "btrfs", .in_place = WORKSPACE_LIVE, .snapshots = true },
	.probe = probe_btrfs,
	.create = create_btrfs,
	.open = open_btrfs,
	.capture = capture_btrfs,
	.settle = settle_btrfs,
	.apply = apply_btrfs,
	.destroy = destroy_btrfs,
	.close = close_btrfs,
};
