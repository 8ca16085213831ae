/*
 * btrfs - the backend whose live tree is a subvolume.
 *
 * The generation of a subvolume is a number that grows with every change (subvolume.h).  A capture
 * writes to disk all changes that the file system has only in memory, and then reads the
 * generation.  If the capture has to walk the tree, it saves an index with a mark: the generation
 * that was read before the walk, and the tree that the walk found.  If the next capture reads the
 * generation of the mark, nothing has changed, and the tree is that of the mark.  Otherwise that
 * capture walks the tree.  If strata runs as root, it first lists the inodes that have changed
 * after the generation of the mark, and the walk looks only at these inodes.  If strata runs as an
 * ordinary user, the walk looks at the whole tree.
 *
 * A change that is made after the generation was read gets a greater generation, even if it is made
 * during the walk.  So the next capture finds the change.  At worst a capture walks the tree in
 * vain, for example when only the access time of a symbolic link has changed.  The mark is an
 * extended attribute of the index file, so that the index and its mark are always replaced
 * together.
 *
 * A fork is a snapshot, which costs one transaction, whatever the size of the tree.  The snapshot
 * has the inode numbers and times of its origin, so a copy of the origin's index describes the
 * snapshot, too.  The copy must be made before the snapshot, because as soon as the snapshot
 * exists, the origin and the snapshot give the same inode numbers to different new files.  The
 * origin may change between its last check and the snapshot.  So the snapshot, which no program
 * changes yet, is checked against the origin's mark.
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
#include "workspace/indexed.h"
#include "workspace/livedir.h"
#include "workspace/subvolume.h"

#define MARK_ATTR "user.strata.mark"

/*
 * A state of the subvolume.  As long as the subvolume is in the state 'at', 'tree' is its tree, and
 * the index with this mark describes that tree.
 */
struct mark {
	struct subvolume at;
	/* hash of the patterns for excluded files; the tree depends on these patterns */
	struct hash exclude;
	struct hash tree;
};
_Static_assert(sizeof(struct mark) == 96, "compared and stored as it is, without gaps");

struct btrfs {
	struct mark mark; /* mark of a capture whose index has not been saved yet */
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
	/* Every user may remove an empty subvolume with rmdir. */
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
	if (r < 0)
		return err_number(err, -r, "make subvolume '%s'", name);
	return 0;
}

/*
 * Delete the subvolume of a live tree.  The deletion fails if the user has lost the right to it, or
 * if a program has made subvolumes inside.  In these cases the subvolume is emptied like a
 * directory.
 */
static int remove_live(int dirfd, const char *name, struct err *err)
{
	struct err ignored = { 0 };
	owned_fd int live = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, &ignored);

	/*
	 * Make the subvolume writable first.  Nobody can empty a read-only one, and only root can
	 * delete it.
	 */
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
	indexed_close(ws);
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

/*
 * Whether two marks are of the same state.  Their trees are not compared, since the mark of a
 * capture that has just begun has no tree yet.
 */
static bool same_state(const struct mark *a, const struct mark *b)
{
	return !memcmp(&a->at, &b->at, sizeof(a->at)) && hash_eq(&a->exclude, &b->exclude);
}

/*
 * Write all changes of the live tree to disk, and read its state into *mark.  Returns false if the
 * state cannot be known, for example because the live tree contains other subvolumes.
 */
static bool read_state(const struct workspace *ws, struct mark *mark)
{
	struct err ignored = { 0 };

	hash_exclude(ws, &mark->exclude);
	return subvolume_is(ws->live) && syncfs(ws->live) == 0 &&
	       subvolume_look(ws->live, &mark->at, &ignored) == 0 &&
	       subvolume_nested(ws->live, &ignored) == 0;
}

/* ---------------------------------------------------------------- capturing */

static uint64_t count_reports(const struct report *report)
{
	uint64_t n = 0;

	for (size_t kind = 0; kind < REPORT_KINDS; kind++)
		n += report->count[kind];
	return n;
}

/*
 * List the inodes that have changed since the saved mark.  Returns false if they cannot be listed.
 */
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

/*
 * Find the changes by walking the tree.  After an incomplete walk the index gets no mark, so that
 * the next capture walks the tree again.
 */
static int capture_by_walk(
	struct workspace *ws, struct indexed_options options, struct hash *tree, struct err *err)
{
	struct btrfs *btrfs = ws->own;
	uint64_t before = ws->setup.report ? count_reports(ws->setup.report) : 0;
	struct scan_inodes changed = { 0 };

	if (list_changed(ws, &changed))
		options.changed = &changed;
	int r = indexed_capture(ws, &options, tree, err);
	free(changed.list);
	if (r < 0 || !ws->setup.report || count_reports(ws->setup.report) != before)
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

	btrfs->marked = read_state(ws, &btrfs->mark);
	if (btrfs->marked && read_mark(ws->index, ws->setup.name, &last) &&
		same_state(&last, &btrfs->mark) &&
		store_has(ws->setup.store, OBJECT_TREE, &last.tree, &ignored) == 1) {
		indexed_drop(ws);
		*tree = last.tree;
		return 0;
	}
	return capture_by_walk(ws, (struct indexed_options){ 0 }, tree, err);
}

static int save_btrfs(struct workspace *ws, struct err *err)
{
	struct btrfs *btrfs = ws->own;

	/*
	 * If the walk found no difference, the old index stays and gets the new mark.  The next
	 * capture then needs no walk.
	 */
	if (btrfs->marked && ws->temp[0])
		(void)write_mark(ws->index, ws->same ? ws->setup.name : ws->temp, &btrfs->mark);
	return indexed_save(ws, err);
}

static int flush_and_save(struct workspace *ws, struct err *err)
{
	int r = store_flush(ws->setup.store, err);

	return r < 0 ? r : save_btrfs(ws, err);
}

static int write_tree(struct workspace *ws, const struct hash *from, const struct hash *to,
	int donor, struct hash *now, struct err *err)
{
	struct btrfs *btrfs = ws->own;
	owned(applied_release) struct applied applied = APPLIED_INIT;
	struct indexed_options options = { .adopt = to, .applied = &applied };
	/* A checkout must work even if a program has made the live tree read-only. */
	int r = subvolume_make_writable(ws->live, err);

	if (r >= 0)
		r = livedir_apply(ws, from, to, donor, &applied, err);
	if (r < 0)
		return r;
	btrfs->marked = read_state(ws, &btrfs->mark);
	r = capture_by_walk(ws, options, now, err);
	return r < 0 ? r : flush_and_save(ws, err);
}

static int apply_btrfs(struct workspace *ws, const struct hash *from, const struct hash *to,
	struct hash *now, struct err *err)
{
	return write_tree(ws, from, to, -1, now, err);
}

/* ------------------------------------------------------------------ forking */

/* The live tree that a snapshot is made of. */
struct origin {
	int fd;
	int index; /* the index file that has the mark, owned; -1: none */
	struct mark mark;
	bool marked;
	bool known; /* at the last check, the live tree was in the state of the mark */
};

static void origin_release(struct origin *origin)
{
	close_fd(&origin->index);
}

/* Whether fd is the live tree of the workspace with this name in this environment. */
static bool is_live_tree(int work, const char *name, int fd)
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

	/*
	 * A snapshot would contain excluded files, and would lack nested subvolumes.  So no
	 * snapshot is made if files are excluded or subvolumes are nested.
	 */
	if (donor < 0 || ws->setup.n_exclude || !subvolume_is(donor) ||
		subvolume_nested(donor, &ignored) != 0)
		return false;
	owned_mem char *path = at_path_of(donor, &ignored);
	const char *name = path ? strrchr(path, '/') : NULL;
	if (!name || !is_live_tree(work, name + 1, donor))
		return false;
	origin->fd = donor;
	origin->index = at_name_read(index, name + 1);
	origin->marked = origin->index >= 0 &&
			 fgetxattr(origin->index, MARK_ATTR, &origin->mark, sizeof(origin->mark)) ==
				 sizeof(origin->mark) &&
			 store_has(ws->setup.store, OBJECT_TREE, &origin->mark.tree, &ignored) == 1;
	/*
	 * Do not trust a mark that was made while the transaction of the last change was still
	 * open.  Later changes may have the number of the same transaction, so that the mark does
	 * not reveal them.
	 */
	origin->known = origin->marked && origin->mark.at.changed <= origin->mark.at.generation &&
			subvolume_look(donor, &now.at, &ignored) == 0 &&
			same_state(&origin->mark, &now);
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
 * Give the copied index a mark.  'now' is the state of the snapshot.
 *
 * If the origin's mark was right, and nothing changed until the snapshot was made, the snapshot has
 * the tree of that mark.  The copied index then gets a mark with that tree and the state 'now', and
 * the function returns true.  Otherwise the copied index gets the origin's old mark.  The old mark
 * is right for the snapshot, too: the next capture looks at all inodes that have changed after the
 * generation of the mark.
 */
static bool copy_mark(const struct workspace *ws, const char *copy, const struct origin *origin,
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
 * Making the snapshot has changed the generation of the origin.  So set the mark of the origin's
 * index to the present generation, unless the files of the origin have changed.  'then' is the
 * state of the snapshot, which has the files that the origin's index describes.
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

/*
 * Open the snapshot.  The parameter 'copy' is the name of a copy of the origin's index, or NULL.
 * *tree is set to the tree of the snapshot.
 */
static int open_fork(struct workspace *ws, struct origin *origin, const char *copy,
	struct hash *tree, struct err *err)
{
	struct subvolume then;
	int r = workspace_open(ws, err);

	if (r >= 0)
		r = subvolume_look(ws->live, &then, err);
	if (r < 0)
		return r;
	bool known = copy && copy_mark(ws, copy, origin, &then);
	if (copy)
		r = at_rename(ws->index, copy, ws->setup.name, err);
	if (known)
		*tree = origin->mark.tree;
	else if (r >= 0)
		r = capture_btrfs(ws, tree, err);
	bool as_indexed = known || (r >= 0 && copy && ws->same);
	if (r >= 0 && !known)
		r = flush_and_save(ws, err);
	if (as_indexed)
		renew_mark(origin, &then);
	return r;
}

/*
 * Make the live tree, as a snapshot of the directory 'donor'.  Returns 1 with the snapshot's tree
 * in *tree, or 0 if a snapshot is not possible.
 */
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
	/*
	 * This workspace is not in the database yet.  So if files with its name exist, an
	 * interrupted create has left them.
	 */
	int r = work < 0 ? work : remove_live(work, ws->setup.name, err);
	if (r >= 0)
		r = fork_live(ws, work, donor, &found, err);
	if (r > 0)
		return hash_eq(&found, tree) ? 0 : write_tree(ws, &found, tree, -1, &now, err);
	if (r == 0)
		r = make_live(work, ws->setup.name, err);
	if (r >= 0)
		r = workspace_open(ws, err);
	return r < 0 ? r : write_tree(ws, NULL, tree, donor, &now, err);
}

const struct workspace_backend workspace_btrfs = {
	.kind = { .name = "btrfs", .in_place = WORKSPACE_LIVE, .snapshots = true },
	.probe = probe_btrfs,
	.create = create_btrfs,
	.open = open_btrfs,
	.capture = capture_btrfs,
	.save_index = save_btrfs,
	.apply = apply_btrfs,
	.destroy = destroy_btrfs,
	.close = close_btrfs,
};
