/*
 * Enters the directories in which names are changed, and sets their modes and times when the
 * restore ends.
 *
 * A directory without write permission for its owner gets this permission until the restore ends.
 * If the user who runs the restore may not change the mode, the next change in the directory fails,
 * and that error is reported.
 *
 * If a restore is killed, another restore must be able to complete it.  So each directory that is
 * entered has a mark until it is finished: an extended attribute with its old mode and time.  Files
 * have temporary names until they are whole.  The next restore reads the marks and removes the
 * temporary files.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/undo/restore_priv.h"

#define TEMP_PREFIX ".strata-tmp-"
#define MARK "user.strata.putback"
#define MARK_BYTES 96
#define NEW_PARENT_MODE 0755

/* ------------------------------------------------------------ temporary names */

void restore_dir_temp(struct restore *restore, char out[RESTORE_TEMP])
{
	snprintf(out, RESTORE_TEMP, TEMP_PREFIX "%d-%u", (int)getpid(), restore->priv->temp++);
}

bool restore_dir_is_leftover(const char *name)
{
	struct str text = str_of(name);
	int pid = 0, end = 0;
	unsigned number;

	if (!str_starts(text, STR(TEMP_PREFIX)) ||
		sscanf(name, TEMP_PREFIX "%d-%u%n", &pid, &number, &end) != 2 || name[end] ||
		pid <= 0)
		return false;
	/*
	 * an earlier process has made this name, even if that process had the process id of this
	 * one
	 */
	return pid == getpid() || (kill(pid, 0) < 0 && errno == ESRCH);
}

static int remove_leftover(void *arg, int dirfd, const char *name, struct err *err)
{
	if (restore_dir_is_leftover(name) && unlinkat(dirfd, name, 0) < 0 && errno == EISDIR)
		(void)unlinkat(dirfd, name, AT_REMOVEDIR);
	return 0;
}

/* ---------------------------------------------------------------------- marks */

static void set_mark(int dir, const char *name, const struct restore_touched *touched)
{
	char text[MARK_BYTES];
	int len = touched->timed ? snprintf(text, sizeof(text), "%o %lld %ld", touched->mode,
					   (long long)touched->mtime.tv_sec, touched->mtime.tv_nsec)
				 : snprintf(text, sizeof(text), "%o", touched->mode);

	(void)at_xattr_set(dir, name, MARK, text, (size_t)len);
}

/*
 * Read the mark of a directory.  'now' is the present mode of the directory.  Returns false if the
 * directory has no mark.  The mode in the mark is used only if the present mode is that mode with
 * 0700 added.
 */
static bool read_mark(int dir, const char *name, uint32_t now, struct restore_touched *touched)
{
	char text[MARK_BYTES];
	ssize_t len = at_xattr_get(dir, name, MARK, text, sizeof(text) - 1);
	long long seconds;
	long ns;
	unsigned mode;

	if (len <= 0)
		return false;
	text[len] = '\0';
	int n = sscanf(text, "%o %lld %ld", &mode, &seconds, &ns);
	*touched = (struct restore_touched){ .mode = now };
	if (n >= 1 && mode <= 07777 && (mode | 0700) == now) {
		touched->mode = mode;
		touched->loosened = mode != now;
	}
	if (n == 3 && ns >= 0 && ns < WHEN_SECOND) {
		touched->timed = true;
		touched->mtime = (struct timespec){ seconds, ns };
	}
	return true;
}

bool restore_dir_is_marked(int dir, const char *name)
{
	char text[MARK_BYTES];

	return at_xattr_get(dir, name, MARK, text, sizeof(text)) > 0;
}

void restore_dir_unmark(int dir, const char *name)
{
	(void)at_xattr_remove(dir, name, MARK);
}

/* ---------------------------------------------------------- changing a directory */

static size_t slot_of(const struct restore_priv *priv, const char *dir)
{
	size_t hash = 14695981039346656037u; /* the start value of FNV-1a */

	for (const char *c = dir; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211u;
	size_t at = hash & (priv->n_slots - 1);
	while (priv->slots[at] && strcmp(priv->touched[priv->slots[at] - 1].dir, dir) != 0)
		at = (at + 1) & (priv->n_slots - 1);
	return at;
}

static bool is_touched(const struct restore_priv *priv, const char *dir)
{
	return priv->n_slots && priv->slots[slot_of(priv, dir)];
}

static void add_touched(
	struct restore_priv *priv, const char *dir, const struct restore_touched *touched)
{
	mem_grow(&priv->touched, &priv->cap_touched, priv->n_touched);
	priv->touched[priv->n_touched] = *touched;
	priv->touched[priv->n_touched++].dir = mem_strdup(dir);
	if (2 * priv->n_touched <= priv->n_slots) {
		priv->slots[slot_of(priv, dir)] = (uint32_t)priv->n_touched;
		return;
	}
	free(priv->slots);
	priv->n_slots = priv->n_slots ? 2 * priv->n_slots : 64;
	priv->slots = mem_zalloc(priv->n_slots * sizeof(*priv->slots));
	for (size_t i = 0; i < priv->n_touched; i++)
		priv->slots[slot_of(priv, priv->touched[i].dir)] = (uint32_t)i + 1;
}

/*
 * Change the mode of a directory through its descriptor.  The name "." cannot be used, because
 * nothing can be looked up in a directory without search permission.
 */
static int chmod_dir(int dir, uint32_t mode)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	return fchmodat(AT_FDCWD, self, mode, 0);
}

/*
 * Save the mode and the time of an open directory in a mark, since names in the directory are about
 * to change.
 */
static int touch_dir(struct restore *restore, int dir, const char *path, struct err *err)
{
	struct statx stx;

	if (is_touched(restore->priv, path))
		return 0;
	errno = -at_fd_stat(dir, &stx);
	if (errno)
		return err_errno(err, "look at '%s'", path);
	uint32_t mode = stx.stx_mode & 07777;
	struct restore_touched touched = {
		.mode = mode,
		.timed = true,
		.mtime = { stx.stx_mtime.tv_sec, (long)stx.stx_mtime.tv_nsec },
	};
	if ((mode & 0300) != 0300)
		touched.loosened = !chmod_dir(dir, mode | 0700);
	if (!restore->options.fresh)
		set_mark(dir, ".", &touched);
	add_touched(restore->priv, path, &touched);
	return 0;
}

int restore_dir_enter_old(
	struct restore *restore, struct str path, const char **name, struct err *err)
{
	int dir = restore_see_parent(restore, path, name, err);
	int rc = dir < 0 ? dir : touch_dir(restore, dir, restore->priv->dir.data, err);

	return rc < 0 ? rc : dir;
}

/*
 * Make a directory with a mark.  The directory is first made under a temporary name.  So it already
 * has the mark, and a mode that no umask has reduced, when it gets its final name.
 */
static int make_marked(struct restore *restore, int dir, const char *name, uint32_t mode)
{
	const struct restore_touched touched = { .mode = mode };
	char temp[RESTORE_TEMP];

	restore_dir_temp(restore, temp);
	if (mkdirat(dir, temp, 0700) < 0)
		return -errno;
	set_mark(dir, temp, &touched);
	int rc = at_name_chmod(dir, temp, mode | 0700);
	if (rc == 0 && renameat2(dir, temp, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	/* EINVAL means that the file system does not support RENAME_NOREPLACE. */
	if (rc == 0)
		rc = errno == EINVAL && mkdirat(dir, name, 0700) == 0 ? 0 : -errno;
	(void)unlinkat(dir, temp, AT_REMOVEDIR);
	return rc;
}

int restore_dir_make(struct restore *restore, int dir, const char *name,
	const struct bundle_state *want, mode_t usual)
{
	if (want && want->type == BUNDLE_DIR && want->has & BUNDLE_HAS_MODE &&
		!restore->options.fresh)
		return make_marked(restore, dir, name, want->mode);
	return mkdirat(dir, name, usual) < 0 ? -errno : 0;
}

/*
 * Make a directory that has no step.  Its recorded mode and time are set at the end of the restore.
 */
static int make_parent(struct restore *restore, struct str path, struct err *err)
{
	const struct bundle_file *file = bundle_find(restore->bundle, path);
	const struct bundle_state *want = file ? &file->state[restore->options.side] : NULL;
	const char *name;
	int dir = restore_dir_enter_old(restore, path, &name, err);

	if (dir < 0)
		return dir;
	owned_mem char *plain = mem_dup(path.ptr + 1, path.len - 1);
	name = plain + (name - path.ptr - 1);
	errno = -restore_dir_make(restore, dir, name, want, NEW_PARENT_MODE);
	if (errno)
		return errno == EEXIST ? 0 : err_errno(err, "make its directory");
	if (want && want->type == BUNDLE_DIR && want->has & BUNDLE_HAS_MODE &&
		!is_touched(restore->priv, plain))
		add_touched(restore->priv, plain,
			&(struct restore_touched){ .mode = want->mode, .loosened = true });
	return 0;
}

int restore_dir_enter(struct restore *restore, struct str path, const char **name, struct err *err)
{
	struct err missing = { 0 };
	int dir = restore_dir_enter_old(restore, path, name, &missing);

	if (dir >= 0)
		return dir;
	if (missing.code != ERR_NOT_FOUND) {
		*err = missing;
		return dir;
	}
	for (size_t len = 1; len < path.len; len++) {
		int rc = path.ptr[len] == '/'
				 ? make_parent(restore, (struct str){ path.ptr, len }, err)
				 : 0;

		if (rc < 0)
			return rc;
	}
	return restore_dir_enter_old(restore, path, name, err);
}

/* ------------------------------------------------- leftovers of a killed restore */

static void take_over_dir(struct restore *restore, int dir, const char *path)
{
	struct restore_touched touched;
	struct err ignored = { 0 };
	struct statx stx;

	(void)at_each_name(dir, ".", remove_leftover, NULL, &ignored);
	if (!is_touched(restore->priv, path) && at_fd_stat(dir, &stx) == 0 &&
		read_mark(dir, ".", stx.stx_mode & 07777, &touched))
		add_touched(restore->priv, path, &touched);
}

void restore_dir_take_over(struct restore *restore)
{
	struct str last = STR("");

	for (size_t i = 0; i < restore->n_steps; i++) {
		struct str path = restore->steps[i].file->path;
		const char *name, *slash = memrchr(path.ptr, '/', path.len);
		struct str parent = { path.ptr, (size_t)(slash - path.ptr) };
		struct err ignored = { 0 };

		if (i && str_eq(parent, last))
			continue;
		last = parent;
		int dir = restore_see_parent(restore, path, &name, &ignored);
		if (dir >= 0)
			take_over_dir(restore, dir, restore->priv->dir.data);
	}
}

/* ----------------------------------------------------- at the end of a restore */

/*
 * Finish a directory that was entered.
 *
 * If the directory has a step, the step sets its attributes.  A directory with a record but without
 * a step gets its old mode and its recorded time.  A directory with neither gets its old mode and
 * its old time: the command has changed no names in it, so the time must not show that the restore
 * has replaced a file there.
 */
static void finish_touched(
	struct restore *restore, const struct restore_touched *touched, bool early)
{
	const struct timespec old_time[2] = { { .tv_nsec = UTIME_OMIT }, touched->mtime };
	owned_mem char *path = mem_printf("/%s", strcmp(touched->dir, ".") ? touched->dir : "");
	const struct bundle_file *file = bundle_find(restore->bundle, str_of(path));
	const struct restore_step *step = restore_plan_find(restore, str_of(path));
	struct err ignored = { 0 };
	owned_fd int fd = at_open(
		restore->options.root, touched->dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK, &ignored);

	if (fd < 0)
		return;
	restore_sync_note(restore, fd);
	if (step && (step->action == RESTORE_MAKE_DIR ||
			    (step->action == RESTORE_ATTRIBUTES && !early)))
		return;
	if (file && file->state[restore->options.side].type == BUNDLE_DIR)
		(void)restore_attr_time(fd, ".", &file->state[restore->options.side], &ignored);
	else if (!file && touched->timed)
		(void)futimens(fd, old_time);
	if (!restore->options.fresh)
		restore_dir_unmark(fd, ".");
	if (touched->loosened)
		(void)fchmod(fd, touched->mode);
}

/*
 * Whether the command changed only the time of a directory, by making names in it and removing them
 * again.  Such a directory has no step, and perhaps the restore has not entered it.
 */
static bool is_only_retimed_dir(const struct restore *restore, const struct bundle_file *file)
{
	const struct bundle_state *want = &file->state[restore->options.side];
	const struct bundle_state *other = &file->state[!restore->options.side];

	return want->exists && other->exists && !file->by_other && want->type == BUNDLE_DIR &&
	       other->type == BUNDLE_DIR && want->has & BUNDLE_HAS_MTIME &&
	       want->mtime != other->mtime && !restore_plan_find(restore, file->path);
}

/*
 * Whether a directory has the time of a state.  If it has another time, names in it were made or
 * removed later.
 */
static bool has_time(int fd, const struct bundle_state *state)
{
	struct statx stx;

	return at_fd_stat(fd, &stx) == 0 &&
	       when_of(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec) == state->mtime;
}

static void reset_dir_times(struct restore *restore)
{
	struct bundle *bundle = restore->bundle;
	struct err ignored = { 0 };

	for (size_t i = 0; i < bundle->n_files; i++) {
		const struct bundle_file *file = &bundle->files[i];

		if (!is_only_retimed_dir(restore, file) || file->path.len == 1)
			continue;
		owned_fd int fd = at_open(restore->options.root, file->path.ptr + 1,
			O_RDONLY | O_DIRECTORY | O_NONBLOCK, &ignored);
		if (fd >= 0 && has_time(fd, &file->state[!restore->options.side]))
			(void)restore_attr_time(
				fd, ".", &file->state[restore->options.side], &ignored);
	}
}

static int compare_deepest_first(const void *a, const void *b)
{
	return strcmp(
		((const struct restore_touched *)b)->dir, ((const struct restore_touched *)a)->dir);
}

void restore_dir_finish(struct restore *restore, bool early)
{
	struct restore_priv *priv = restore->priv;

	if (priv->n_touched)
		qsort(priv->touched, priv->n_touched, sizeof(*priv->touched),
			compare_deepest_first);
	for (size_t i = 0; i < priv->n_touched; i++)
		finish_touched(restore, &priv->touched[i], early);
	if (!early)
		reset_dir_times(restore);
}
