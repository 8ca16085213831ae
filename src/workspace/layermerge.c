/*
 * Builds each directory of the result from the directories with the same path in the layers,
 * beginning with the topmost layer.
 *
 * For each name, the topmost entry counts.  If that entry is a directory, the directories of the
 * same name in deeper layers are merged into it, down to an opaque directory or a file that is not
 * a directory.  Either of them hides what the layers below have under this name, so the resulting
 * directory becomes opaque.
 */
#include "workspace/layermerge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/xattrs.h"

#define DEPTH_MAX 16384 /* maximum nesting of directories */

/* A directory of the result while it is being built. */
struct merging {
	int out;
	/* directories to merge, owned; the directory of the topmost layer is first */
	int from[LAYERLINKS_DEPTH_MAX];
	size_t n;
	bool opaque; /* the result hides the directories in the layers below the merged ones */
	unsigned level;
};

static int merge_dir(struct merging *dir, struct err *err);

static void merging_release(struct merging *dir)
{
	close_fd(&dir->out);
	for (size_t i = 0; i < dir->n; i++)
		close_fd(&dir->from[i]);
}

static bool is_opaque(int dirfd)
{
	char value[4];
	ssize_t n = at_xattr_get(dirfd, ".", XATTRS_OPAQUE_MARK, value, sizeof(value));

	return n == 1 && value[0] == XATTRS_OPAQUE_VALUE[0];
}

/* --------------------------------------------------------------- attributes */

static int copy_xattrs(int from, int to)
{
	owned_mem char *names = mem_alloc(AT_XATTR_MAX);
	owned_mem char *value = mem_alloc(AT_XATTR_MAX);
	ssize_t n = at_xattr_list(from, ".", names, AT_XATTR_MAX);

	if (n < 0)
		return (int)n;
	for (const char *attr = names; attr < names + n; attr += strlen(attr) + 1) {
		if (xattrs_is_mark(attr))
			continue;
		ssize_t len = at_xattr_get(from, ".", attr, value, AT_XATTR_MAX);
		int r = len < 0 ? (int)len : at_xattr_set(to, ".", attr, value, (size_t)len);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Give the result the attributes of the topmost directory.  The times are set last, since they
 * change whenever a name is made in the directory.
 */
static int copy_attributes(const struct merging *dir)
{
	struct statx stx;
	int r = at_fd_stat(dir->from[0], &stx);

	if (r < 0)
		return r;
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = stx.stx_mtime.tv_sec, .tv_nsec = stx.stx_mtime.tv_nsec },
	};
	struct statx made;
	r = at_fd_stat(dir->out, &made);
	if (r < 0)
		return r;
	if ((made.stx_uid != stx.stx_uid || made.stx_gid != stx.stx_gid) &&
		fchown(dir->out, stx.stx_uid, stx.stx_gid) < 0)
		return -errno;
	r = copy_xattrs(dir->from[0], dir->out);
	if (r >= 0 && dir->opaque)
		r = at_xattr_set(dir->out, ".", XATTRS_OPAQUE_MARK, XATTRS_OPAQUE_VALUE, 1);
	if (r < 0)
		return r;
	if (fchmod(dir->out, stx.stx_mode & 07777) < 0 || futimens(dir->out, times) < 0)
		return -errno;
	return 0;
}

/* -------------------------------------------------------------------- names */

static int open_below(int dirfd, const char *name)
{
	return at_name_open(dirfd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
}

/*
 * Open the directories with this name in the layers, beginning with the layer at the index 'first'.
 * The function stops after a directory that hides the deeper directories.
 */
static int open_sources(
	const struct merging *dir, size_t first, const char *name, struct merging *below)
{
	struct statx stx;

	for (size_t i = first; i < dir->n; i++) {
		int r = at_name_stat(dir->from[i], name, &stx);

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		if (!S_ISDIR(stx.stx_mode)) {
			below->opaque = true;
			return 0;
		}
		int fd = open_below(dir->from[i], name);
		if (fd < 0)
			return fd;
		below->from[below->n++] = fd;
		if (is_opaque(fd)) {
			below->opaque = true;
			return 0;
		}
	}
	return 0;
}

static int merge_below(struct merging *dir, size_t first, const char *name, struct err *err)
{
	/*
	 * Allocate this struct on the heap, because directories can be nested too deeply for the
	 * call stack.
	 */
	struct merging *below = mem_alloc(sizeof(*below));
	int r = 0;

	*below = (struct merging){ .out = -1, .level = dir->level + 1 };
	if (below->level > DEPTH_MAX)
		r = -ENAMETOOLONG;
	if (r >= 0)
		r = open_sources(dir, first, name, below);
	if (r >= 0 && mkdirat(dir->out, name, 0700) < 0)
		r = -errno;
	if (r >= 0)
		r = below->out = open_below(dir->out, name);
	r = r < 0 ? err_number(err, -r, "merge '%s'", name) : merge_dir(below, err);
	merging_release(below);
	free(below);
	return r;
}

/*
 * Add one name to the result.  A whiteout is made anew and not linked, because the number of links
 * of an inode is limited.
 */
static int merge_name(struct merging *dir, size_t first, const char *name, const struct statx *stx,
	struct err *err)
{
	bool whiteout = S_ISCHR(stx->stx_mode) && !stx->stx_rdev_major && !stx->stx_rdev_minor;

	if (S_ISDIR(stx->stx_mode))
		return merge_below(dir, first, name, err);
	int r = whiteout ? mknodat(dir->out, name, S_IFCHR, makedev(0, 0))
			 : linkat(dir->from[first], name, dir->out, name, 0);
	return r < 0 ? err_errno(err, "merge '%s'", name) : 0;
}

/* Add the names that one layer has and no layer above it has. */
static int merge_names(struct merging *dir, size_t first, struct err *err)
{
	int fd = open_below(dir->from[first], ".");
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct statx stx;
	int r = 0;

	if (!list) {
		close_fd(&fd);
		return err_errno(err, "list a layer");
	}
	for (struct dirent *d; r >= 0 && (d = readdir(list));) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
			at_name_stat(dir->out, d->d_name, &stx) == 0)
			continue;
		int found = at_name_stat(dir->from[first], d->d_name, &stx);
		r = found < 0 ? err_number(err, -found, "merge '%s'", d->d_name)
			      : merge_name(dir, first, d->d_name, &stx, err);
	}
	closedir(list);
	return r;
}

static int merge_dir(struct merging *dir, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < dir->n; i++)
		r = merge_names(dir, i, err);
	if (r < 0)
		return r;
	r = copy_attributes(dir);
	return r < 0 ? err_number(err, -r, "set the attributes of a merged directory") : 0;
}

/* -------------------------------------------------------------------- layers */

static int merge_all(int dirfd, const struct layerlinks_chain *chain, size_t count, unsigned number,
	struct err *err)
{
	struct merging *top = mem_zalloc(sizeof(*top));
	char name[LAYERLINKS_NAME];
	int r = at_mkdirs(dirfd, layerlinks_name(name, number, ""), 0700, err);

	top->out = -1;
	if (r >= 0)
		r = top->out = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, err);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		layerlinks_name(name, chain->layer[i].number, "");
		r = top->from[i] = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, err);
		top->n += r >= 0;
	}
	if (r >= 0)
		r = merge_dir(top, err);
	merging_release(top);
	free(top);
	return r;
}

static bool any_inexact(int dirfd, const struct layerlinks_chain *chain, size_t count)
{
	struct err ignored = { 0 };
	struct layerlinks_ok ok;
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= layerlinks_read_ok(dirfd, chain->layer[i].number, &ok, &ignored) > 0 &&
		       ok.inexact;
	return any;
}

int layermerge_top(int dirfd, const struct layerlinks_chain *chain, size_t count, unsigned *number,
	struct err *err)
{
	struct layerlinks_on on = {
		.below = count < chain->n ? chain->layer[count].number : 0,
		.base = chain->base,
		.tree = chain->layer[0].tree,
	};
	struct layerlinks_ok ok = { .inexact = any_inexact(dirfd, chain, count) };
	unsigned made;
	int r = layerlinks_reserve(dirfd, &on, &made, err);

	if (r < 0)
		return r;
	r = merge_all(dirfd, chain, count, made, err);
	if (r >= 0)
		r = layerlinks_mark(dirfd, made, &ok, err);
	if (r >= 0 && !ok.inexact)
		r = layerlinks_prefer(dirfd, &on.tree, made, err);
	if (r < 0) {
		layerlinks_give_up(dirfd, made);
		return err_context(err, "merge layers");
	}
	*number = made;
	return 0;
}
