/*
 * plain - the copy and reflink backends: the live tree is a plain directory,
 * and what changed is found by a parallel stat walk against the index.
 *
 * The two differ in one thing: reflink clones file contents on creation where
 * the source lies on the same file system.
 */
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/at.h"
#include "core/own.h"
#include "workspace/indexed.h"

static int probe_copy(int rootfd, char why[WORKSPACE_WHY_MAX])
{
	return 1;
}

/* Clone a file of one block: what a file system claims and what it does are two things. */
static int probe_reflink(int rootfd, char why[WORKSPACE_WHY_MAX])
{
	char block[4096] = "strata";
	struct err err = { 0 };
	owned_fd int a = at_tmpfile(rootfd, &err);
	owned_fd int b = a < 0 ? -1 : at_tmpfile(rootfd, &err);

	if (b < 0 || at_write_all(a, block, sizeof(block)) < 0) {
		snprintf(why, WORKSPACE_WHY_MAX, "cannot make a temporary file");
		return 0;
	}
	if (ioctl(b, FICLONE, a) == 0)
		return 1;
	snprintf(why, WORKSPACE_WHY_MAX, "this file system cannot clone files (%s)",
		errno == EOPNOTSUPP || errno == ENOTTY ? "no FICLONE" : strerror(errno));
	return 0;
}

/* "../.." gives 2; 0 for an absolute path. */
static unsigned levels_above(const char *path)
{
	unsigned levels = 0;

	for (; !strncmp(path, "..", 2); path += 2 + (path[2] == '/'))
		levels++;
	return levels;
}

/*
 * A live tree outside is known by its inode, too: another directory at its
 * path is not ours to change.  An empty one may take its place.
 */
static int check_identity(struct workspace *ws, int fd, struct err *err)
{
	struct statx stx;
	int r = at_fd_stat(fd, &stx);

	if (r < 0 || !ws->ino || stx.stx_ino == ws->ino)
		return 0;
	r = at_holds_only(fd, ".", err);
	if (r != 0)
		return r < 0 ? r : 0;
	err_set(err, ERR_INVALID, "'%s' is not the directory this environment was made for",
		ws->path);
	return err_hint(err, "bring the old directory back to its place, or empty this one");
}

static int open_outside(struct workspace *ws, struct err *err)
{
	unsigned levels = levels_above(ws->path);

	if (levels)
		return at_open_above(ws->rootfd, levels, err);
	owned_fd int fd = at_open_given(ws->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, err);
	if (fd == -ERR_NOT_FOUND)
		return err_hint(err, "make the directory again and check out a node");
	int r = fd < 0 ? fd : check_identity(ws, fd, err);
	return r < 0 ? r : take_fd(&fd);
}

static int open_live(struct workspace *ws, struct err *err)
{
	if (ws->path)
		return open_outside(ws, err);
	owned_fd int work = at_open(ws->rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY, err);
	if (work < 0)
		return work;
	/* Removed as a whole, it is an empty tree: a checkout can fill it again. */
	if (ws->remake && !at_exists(work, ws->name)) {
		int r = at_mkdirs(work, ws->name, 0700, err);

		if (r < 0)
			return r;
	}
	int fd = at_open(work, ws->name, O_RDONLY | O_DIRECTORY, err);
	return fd == -ERR_NOT_FOUND ? err_hint(err, "'strata checkout HEAD' brings it back") : fd;
}

static int open_plain(struct workspace *ws, struct err *err)
{
	ws->index = at_open(ws->rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY, err);
	if (ws->index < 0)
		return ws->index;
	ws->live = open_live(ws, err);
	if (ws->live < 0)
		return err_context(err, "the live tree of workspace '%s'", ws->name);
	return 0;
}

static void close_plain(struct workspace *ws)
{
	indexed_drop(ws);
	close_fd(&ws->live);
	close_fd(&ws->index);
}

static int capture_plain(struct workspace *ws, struct hash *tree, struct err *err)
{
	return indexed_capture(ws, &(struct indexed_how){ 0 }, tree, err);
}

static int apply(struct workspace *ws, const struct hash *from, const struct hash *to, int donor,
	struct hash *now, struct err *err)
{
	int64_t since = scan_clock();
	struct scan_skip skip;
	struct treeapply_options options = {
		.fd = ws->live,
		.store = ws->store,
		.from = from,
		.to = to,
		.donor = donor,
		.durable = ws->durable,
		.skip = indexed_own_place(ws, &skip) ? &skip : NULL,
		.report = ws->report,
		.progress = ws->applied,
	};
	int r = treeapply_run(&options, err);
	if (r < 0)
		return r;
	r = indexed_capture(ws, &(struct indexed_how){ .adopt = to, .since = since }, now, err);
	if (r >= 0)
		r = store_flush(ws->store, err);
	return r < 0 ? r : indexed_settle(ws, err);
}

static int become_plain(struct workspace *ws, const struct hash *from, const struct hash *to,
	struct hash *now, struct err *err)
{
	return apply(ws, from, to, -1, now, err);
}

static int create_in(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	struct hash now;
	int r = 0;

	ws->live = ws->index = -1;
	ws->temp[0] = '\0';
	memset(&ws->scan, 0, sizeof(ws->scan));
	if (!ws->path) {
		owned_fd int work =
			at_open(ws->rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY, err);

		if (work < 0)
			return work;
		r = at_mkdirs(work, ws->name, 0700, err);
	}
	if (r >= 0)
		r = open_plain(ws, err);
	if (r < 0 || ws->path)
		return r;
	return apply(ws, NULL, tree, donor, &now, err);
}

static int create_copy(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	return create_in(ws, tree, -1, err);
}

static int create_reflink(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	return create_in(ws, tree, donor, err);
}

static int destroy_plain(struct workspace *ws, struct err *err)
{
	int r = workspace_forget(ws->rootfd, ws->name, err);

	if (r < 0 || ws->path)
		return r;
	owned_fd int work = at_open(ws->rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY, err);
	return work < 0 ? work : at_remove_tree(work, ws->name, err);
}

static int mount_plain(struct workspace *ws, struct workspace_mount *mount, struct err *err)
{
	mount->outside = ws->path;
	snprintf(mount->bind, sizeof(mount->bind), WORKSPACE_LIVE_DIR "/%s", ws->name);
	return 0;
}

static int below_plain(struct workspace *ws, struct hash *tree, struct err *err)
{
	return 0;
}

const struct workspace_backend workspace_copy = {
	.name = "copy",
	.in_place = WORKSPACE_LIVE,
	.probe = probe_copy,
	.create = create_copy,
	.open = open_plain,
	.capture = capture_plain,
	.settle = indexed_settle,
	.become = become_plain,
	.mount = mount_plain,
	.below = below_plain,
	.destroy = destroy_plain,
	.close = close_plain,
};

const struct workspace_backend workspace_reflink = {
	.name = "reflink",
	.in_place = WORKSPACE_LIVE,
	.probe = probe_reflink,
	.create = create_reflink,
	.open = open_plain,
	.capture = capture_plain,
	.settle = indexed_settle,
	.become = become_plain,
	.mount = mount_plain,
	.below = below_plain,
	.destroy = destroy_plain,
	.close = close_plain,
};
