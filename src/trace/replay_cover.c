#include "trace/replay_cover.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

struct cover_search {
	struct replay_cover *cover;
	const struct restore *plan;
	struct str last; /* the last directory that was added */
};

/*
 * Whether a path is in a directory that the kernel fills.  Such a directory is not covered: the
 * command uses the real one.
 */
static bool is_kernels(struct str path)
{
	return str_within(path, STR("/proc")) || str_within(path, STR("/dev")) ||
	       str_within(path, STR("/sys"));
}

static struct str parent_of(struct str path)
{
	const char *slash = memrchr(path.ptr, '/', path.len);

	return (struct str){ path.ptr, (size_t)(slash - path.ptr) };
}

static bool is_there(const struct cover_search *search, struct str dir)
{
	struct err ignored = { 0 };
	owned_mem char *name = mem_dup(dir.ptr + 1, dir.len - 1);
	owned_fd int fd = at_open(search->plan->options.root, name, O_PATH | O_DIRECTORY, &ignored);

	return fd >= 0;
}

static void add_dir(struct cover_search *search, struct str dir)
{
	struct replay_cover *cover = search->cover;

	mem_grow(&cover->dirs, &cover->cap_dirs, cover->n_dirs);
	cover->dirs[cover->n_dirs++] = arena_str(&cover->arena, dir);
}

/* Add a directory.  If it does not exist, the nearest existing directory above it is added. */
static int add_nearest(struct cover_search *search, struct str dir, struct err *err)
{
	struct str path = dir;

	if (str_eq(dir, search->last))
		return 0;
	search->last = dir;
	while (path.len && !is_there(search, path))
		path = parent_of(path);
	if (path.len) {
		add_dir(search, path);
		return 0;
	}
	err_set(err, ERR_UNSUPPORTED, "no directory on the way to '%.*s' exists", (int)dir.len,
		dir.ptr);
	return err_hint(err, "the root directory cannot be covered: make the first directory of "
			     "that path yourself");
}

static int add_for(struct cover_search *search, struct str path, struct err *err)
{
	struct str dir = parent_of(path);

	if (!dir.len && !is_there(search, path))
		return err_set(err, ERR_UNSUPPORTED,
			"'%s' lies in the root directory: it cannot be replayed", path.ptr);
	return add_nearest(search, dir.len ? dir : path, err);
}

/*
 * Whether the directory that contains the path is writable.  If not, the traced command could not
 * change the path, and the replayed command must fail to change the path, too.
 */
static bool may_write(struct str path)
{
	struct str dir = parent_of(path);
	owned_mem char *name = dir.len ? mem_dup(dir.ptr, dir.len) : mem_strdup("/");

	return at_abs_writable(name);
}

static bool is_concerned(const struct restore_step *step)
{
	if (is_kernels(step->file->path) || step->file->inherited)
		return false;
	if (bundle_is_changed(step->file) ||
		(step->action != RESTORE_NOTHING && step->action != RESTORE_SKIP))
		return true;
	return step->file->operations & BUNDLE_CHANGING && may_write(step->file->path);
}

static int add_steps(struct cover_search *search, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < search->plan->n_steps && rc >= 0; i++)
		if (is_concerned(&search->plan->steps[i]))
			rc = add_for(search, search->plan->steps[i].file->path, err);
	return rc;
}

static int add_start(struct cover_search *search, struct err *err)
{
	struct str cwd = search->plan->bundle->start_cwd;

	if (cwd.len <= 1 || is_kernels(cwd) || (is_there(search, cwd) && !at_abs_writable(cwd.ptr)))
		return 0;
	return add_nearest(search, cwd, err);
}

/*
 * Add the user's cache, since programs need to write in it.  Traces usually ignore the cache, so it
 * is in no bundle.
 */
static void add_cache(struct cover_search *search)
{
	const char *home = getenv("HOME");
	owned_mem char *cache = home && *home == '/' ? mem_printf("%s/.cache", home) : NULL;
	struct err ignored = { 0 };
	owned_fd int fd = cache ? at_open_given(cache, O_PATH | O_DIRECTORY, 0, &ignored) : -1;
	owned_mem char *path = fd < 0 ? NULL : at_path_of(fd, &ignored);

	if (path && path[1] && at_abs_writable(path) && is_there(search, str_of(path)))
		add_dir(search, str_of(path));
}

/* --- reducing the number of directories --- */

/*
 * Compare the paths of two directories.  In the resulting order, all directories below a directory
 * come directly after it.
 */
static int compare_dirs(const void *a, const void *b)
{
	struct str x = *(const struct str *)a, y = *(const struct str *)b;
	size_t n = x.len < y.len ? x.len : y.len;

	for (size_t i = 0; i < n; i++)
		if (x.ptr[i] != y.ptr[i])
			return (x.ptr[i] == '/' ? 0 : (unsigned char)x.ptr[i]) -
			       (y.ptr[i] == '/' ? 0 : (unsigned char)y.ptr[i]);
	return (x.len > y.len) - (x.len < y.len);
}

static uint64_t mount_of(struct str dir)
{
	struct statx stx;

	return at_abs_stat(dir.ptr, &stx) < 0 ? 0 : stx.stx_mnt_id;
}

/*
 * Whether one of the first 'kept' directories contains the directory dir, and both are on one
 * mount.
 */
static bool is_contained(const struct replay_cover *cover, size_t kept, struct str dir)
{
	for (size_t i = kept; i-- > 0;) {
		if (!str_within(dir, cover->dirs[i]))
			continue;
		return dir.len == cover->dirs[i].len || mount_of(dir) == mount_of(cover->dirs[i]);
	}
	return false;
}

static void drop_contained(struct replay_cover *cover)
{
	size_t kept = 0;

	if (cover->n_dirs)
		qsort(cover->dirs, cover->n_dirs, sizeof(*cover->dirs), compare_dirs);
	for (size_t i = 0; i < cover->n_dirs; i++)
		if (!is_contained(cover, kept, cover->dirs[i]))
			cover->dirs[kept++] = cover->dirs[i];
	cover->n_dirs = kept;
}

static size_t depth_of(struct str dir)
{
	size_t depth = 0;

	for (size_t i = 0; i < dir.len; i++)
		depth += dir.ptr[i] == '/';
	return depth;
}

/*
 * Replace the deepest directories by their parents.  Returns false if all directories are directly
 * in the root directory.  Such directories cannot be replaced.
 */
static bool raise_deepest(struct replay_cover *cover)
{
	size_t deepest = 0;

	for (size_t i = 0; i < cover->n_dirs; i++)
		if (depth_of(cover->dirs[i]) > deepest)
			deepest = depth_of(cover->dirs[i]);
	if (deepest < 2)
		return false;
	for (size_t i = 0; i < cover->n_dirs; i++)
		if (depth_of(cover->dirs[i]) == deepest)
			cover->dirs[i] = arena_str(&cover->arena, parent_of(cover->dirs[i]));
	return true;
}

int replay_cover_find(struct replay_cover *cover, const struct restore *plan, struct err *err)
{
	struct cover_search search = { .cover = cover, .plan = plan };
	int rc = add_steps(&search, err);

	if (rc >= 0)
		rc = add_start(&search, err);
	if (rc < 0)
		return rc;
	add_cache(&search);
	drop_contained(cover);
	while (cover->n_dirs > REPLAY_COVER_MAX) {
		if (!raise_deepest(cover))
			return err_set(err, ERR_LIMIT,
				"the command changed files in more than %d directories",
				REPLAY_COVER_MAX);
		drop_contained(cover);
	}
	return 0;
}

bool replay_cover_hides(const struct replay_cover *cover, struct str path)
{
	for (size_t i = 0; i < cover->n_dirs; i++)
		if (str_within(path, cover->dirs[i]))
			return true;
	return false;
}

void replay_cover_release(struct replay_cover *cover)
{
	free(cover->dirs);
	arena_release(&cover->arena);
}
