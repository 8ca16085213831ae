#include "workspace/livedir.h"

#include <fcntl.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "workspace/indexed.h"

/*
 * Returns how many levels a relative path goes up, such as 2 for "../..".  Returns 0 for an
 * absolute path.
 */
static unsigned levels_above(const char *path)
{
	unsigned levels = 0;

	for (; !strncmp(path, "..", 2); path += 2 + (path[2] == '/'))
		levels++;
	return levels;
}

/*
 * Check that a live tree outside the environment has the inode that it had when the environment was
 * made.  A directory with another inode is accepted at that path only if it is empty.
 */
static int check_identity(struct workspace *ws, int fd, struct err *err)
{
	struct statx stx;
	int r = at_fd_stat(fd, &stx);

	if (r < 0 || !ws->setup.ino || stx.stx_ino == ws->setup.ino)
		return 0;
	r = at_holds_only(fd, ".", err);
	if (r != 0)
		return r < 0 ? r : 0;
	err_set(err, ERR_INVALID, "'%s' is not the directory this environment was made for",
		ws->setup.path);
	return err_hint(err, "bring the old directory back to its place, or empty this one");
}

static int open_outside(struct workspace *ws, struct err *err)
{
	unsigned levels = levels_above(ws->setup.path);

	if (levels)
		return at_open_above(ws->setup.rootfd, levels, err);
	owned_fd int fd =
		at_open_given(ws->setup.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, err);
	if (fd == -ERR_NOT_FOUND)
		return err_hint(err, "make the directory again and check out a node");
	int r = fd < 0 ? fd : check_identity(ws, fd, err);
	return r < 0 ? r : take_fd(&fd);
}

int livedir_work(const struct workspace *ws, struct err *err)
{
	return at_open(ws->setup.rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY, err);
}

static int open_inside(struct workspace *ws, livedir_do make, struct err *err)
{
	owned_fd int work = livedir_work(ws, err);

	if (work < 0)
		return work;
	/*
	 * A live tree that was removed counts as empty.  Make it again, so that a checkout can fill
	 * it.
	 */
	if (ws->setup.remake && !at_exists(work, ws->setup.name)) {
		int r = make(work, ws->setup.name, err);

		if (r < 0)
			return r;
	}
	int fd = at_open(work, ws->setup.name, O_RDONLY | O_DIRECTORY, err);
	return fd == -ERR_NOT_FOUND ? err_hint(err, "'strata checkout HEAD' brings it back") : fd;
}

int livedir_open(struct workspace *ws, livedir_do make, struct err *err)
{
	ws->index = at_open(ws->setup.rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY, err);
	if (ws->index < 0)
		return ws->index;
	ws->live = ws->setup.path ? open_outside(ws, err) : open_inside(ws, make, err);
	if (ws->live < 0)
		return err_context(err, "the live tree of workspace '%s'", ws->setup.name);
	/*
	 * Prevent captures from changing access times.  Only the owner of the directory may set
	 * O_NOATIME, so a failure is ignored.
	 */
	(void)fcntl(ws->live, F_SETFL, O_NOATIME);
	return 0;
}

int livedir_destroy(struct workspace *ws, livedir_do discard, struct err *err)
{
	int r = workspace_forget(ws->setup.rootfd, ws->setup.name, err);

	if (r < 0 || ws->setup.path)
		return r;
	owned_fd int work = livedir_work(ws, err);
	return work < 0 ? work : discard(work, ws->setup.name, err);
}

int livedir_apply(struct workspace *ws, const struct hash *from, const struct hash *to, int donor,
	struct applied *applied, struct err *err)
{
	struct scan_skip skip;
	struct treeapply_options options = {
		.fd = ws->live,
		.store = ws->setup.store,
		.from = from,
		.to = to,
		.donor = donor,
		.durable = ws->setup.durable,
		.skip = indexed_own_place(ws, &skip) ? &skip : NULL,
		.applied = applied,
		.report = ws->setup.report,
		.progress = &ws->counters->applied,
	};
	int r = treeapply_run(&options, err);

	applied_sort(applied);
	return r;
}
