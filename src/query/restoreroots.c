#include "query/restoreroots.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

#define TARGET_BYTES_MAX 65536
#define SNAPSHOT_CONTROL STR(".zfs") /* directory in which ZFS shows and makes snapshots */
#define SHOWN 200

/* ---------------------------------------------------------------------- paths */

static int refuse(struct str path, const char *why, struct err *err)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	text_quote(&shown, path);
	return err_set(err, ERR_DENIED, "'%.*s' %s", SHOWN, shown.data ?: "", why);
}

/*
 * Returns a copy of a path without slashes at its start and end, and without "." and "//".  The
 * caller frees the copy.  Returns NULL if the path is too long or contains a NUL, or if a component
 * is ".." or ".zfs".
 */
static char *clean_path(struct str path, struct err *err)
{
	struct str rest = path;
	size_t len = 0;

	if (path.len > TARGET_BYTES_MAX || (path.len && memchr(path.ptr, '\0', path.len))) {
		err_set(err, ERR_DENIED, "a path with a NUL or more than %d bytes",
			TARGET_BYTES_MAX);
		return NULL;
	}
	owned_mem char *clean = mem_zalloc(path.len + 1);
	for (struct str name; (name = str_take_name(&rest)).len;) {
		if (str_eq(name, STR("."))) {
			continue;
		} else if (str_eq(name, STR(".."))) {
			refuse(path, "has a '..'", err);
			return NULL;
		} else if (str_eq(name, SNAPSHOT_CONTROL)) {
			refuse(path, "leads into '.zfs', where ZFS has its snapshots", err);
			return NULL;
		}
		if (len)
			clean[len++] = '/';
		memcpy(clean + len, name.ptr, name.len);
		len += name.len;
	}
	return take_ptr(&clean);
}

/*
 * Returns the part of path below the directory dir, or NULL if path is not below it.  Both paths
 * must be results of clean_path.
 */
static const char *below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (!len)
		return *path ? path : NULL;
	return !strncmp(path, dir, len) && path[len] == '/' ? path + len + 1 : NULL;
}

/* --------------------------------------------------------- adding a directory */

/*
 * Returns the absolute path of a directory, for people and comparisons.  Its symlinks are not
 * resolved.
 */
static char *absolute(const char *path, struct err *err)
{
	if (*path == '/')
		return mem_strdup(path);
	owned_fd int here = at_open_given(".", O_PATH | O_DIRECTORY, 0, err);
	owned_mem char *base = here < 0 ? NULL : at_path_of(here, err);
	return base ? mem_printf("%s/%s", base, path) : NULL;
}

static void free_root(struct restoreroot *root)
{
	free(root->given);
	free(root->real);
	close_fd(&root->fd);
}

int restoreroots_add(struct restoreroots *roots, const char *path, struct err *err)
{
	owned(free_root) struct restoreroot root = { .fd = -1 };

	root.fd = at_open_given(path, O_RDONLY | O_DIRECTORY, 0, err);
	if (root.fd < 0)
		return root.fd;
	owned_mem char *real = at_path_of(root.fd, err);
	owned_mem char *given = real ? absolute(path, err) : NULL;
	if (!given || !(root.real = clean_path(str_of(real), err)))
		return -(int)err->code;
	/* A path with ".." cannot be compared by its text, so only the real path is used. */
	struct err has_up = { 0 };
	root.given = clean_path(str_of(given), &has_up) ?: mem_strdup(root.real);
	mem_grow(&roots->list, &roots->cap, roots->n);
	roots->list[roots->n++] = root;
	root = (struct restoreroot){ .fd = -1 };
	return 0;
}

void restoreroots_release(struct restoreroots *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		free_root(&roots->list[i]);
	free(roots->list);
	*roots = (struct restoreroots){ 0 };
}

/* -------------------------------------------------------------------- targets */

/*
 * Returns the directory of the list that path is below, and sets *rest to the part of path below
 * it.  If path is below several directories, the nearest directory is taken.  Returns NULL if path
 * is below no directory of the list.
 */
static const struct restoreroot *find_root(
	const struct restoreroots *roots, const char *path, const char **rest)
{
	const struct restoreroot *found = NULL;

	for (size_t i = 0; i < roots->n; i++) {
		const struct restoreroot *root = &roots->list[i];
		const char *part = below(path, root->given) ?: below(path, root->real);

		if (part && (!found || part > *rest)) {
			found = root;
			*rest = part;
		}
	}
	return found;
}

static int refuse_outside(const struct restoreroots *roots, struct str path, struct err *err)
{
	if (!roots->n) {
		err_set(err, ERR_DENIED, "nothing may be restored here");
		return err_hint(err, "start with --allow-restore DIR to allow a directory");
	}
	refuse(path, "is not below a directory in which files may be restored", err);
	return err_hint(err, "the directories are those given with --allow-restore");
}

int restoreroots_open(const struct restoreroots *roots, struct str path,
	struct restoreroots_target *target, struct err *err)
{
	const char *rest = NULL;

	if (!roots->n)
		return refuse_outside(roots, path, err);
	if (!path.len || *path.ptr != '/')
		return refuse(path, "is not an absolute path", err);
	owned_mem char *clean = clean_path(path, err);
	if (!clean)
		return -(int)err->code;
	const struct restoreroot *root = find_root(roots, clean, &rest);
	if (!root)
		return refuse_outside(roots, path, err);
	const char *slash = strrchr(rest, '/');
	const char *name = slash ? slash + 1 : rest;
	if (strlen(name) > NAME_MAX)
		return refuse(path, "has a name that is too long", err);
	owned_mem char *parent =
		slash ? mem_printf("%.*s", (int)(slash - rest), rest) : mem_strdup(".");
	int dir = at_open(root->fd, parent, O_RDONLY | O_DIRECTORY, err);
	if (dir < 0) {
		/* A directory that cannot be opened cannot be used for a target. */
		if (err->code == ERR_SYSTEM) {
			err->code = ERR_DENIED;
			err->errno_value = 0;
		}
		return err_context(err, "the directory of the target");
	}
	*target = (struct restoreroots_target){ dir, mem_strdup(name) };
	return 0;
}

static bool is_same(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
	       a->stx_dev_minor == b->stx_dev_minor;
}

bool restoreroots_target_within(const struct restoreroots_target *target, int dir)
{
	owned_fd int here = fcntl(target->dir, F_DUPFD_CLOEXEC, 0);
	struct statx wanted, now, above;

	if (here < 0 || at_fd_stat(here, &now) < 0 || at_fd_stat(dir, &wanted) < 0)
		return false;
	while (!is_same(&now, &wanted)) {
		int parent = at_name_open(here, "..", O_PATH | O_DIRECTORY);

		close_fd(&here);
		here = parent;
		/* The root directory is its own parent. */
		if (here < 0 || at_fd_stat(here, &above) < 0 || is_same(&now, &above))
			return false;
		now = above;
	}
	return true;
}

void restoreroots_target_release(struct restoreroots_target *target)
{
	if (!target->name)
		return;
	close_fd(&target->dir);
	free(target->name);
	target->name = NULL;
}
