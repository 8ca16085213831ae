/*
 * Directories in which something is changed.
 *
 * In one that lacks the owner's right to write we give it for the time, and take it back at the
 * end. Where we may not, the change itself will tell.
 *
 * A restore may be killed, and another one has to complete it.  So each directory has a mark as
 * long as it is not what it shall be in the end: an extended attribute with what it was like. Files
 * have names of ours until they are whole.  Whoever comes next takes the marks for his own, and
 * removes the files.
 */
#include <ctype.h>
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
#include "trace/putback_priv.h"

#define TEMP_PREFIX ".strata-tmp-"
#define MARK "user.strata.putback"
#define MARK_BYTES 96
#define NEW_PARENT_MODE 0755

/* ------------------------------------------------------------ temporary names */

void putback_dir_temp(struct putback *putback, char out[PUTBACK_TEMP])
{
	snprintf(out, PUTBACK_TEMP, TEMP_PREFIX "%d-%u", (int)getpid(), putback->priv->temp++);
}

bool putback_dir_is_left(const char *name)
{
	struct str text = str_of(name);
	int pid = 0, end = 0;
	unsigned number;

	if (!str_starts(text, STR(TEMP_PREFIX)) ||
		sscanf(name, TEMP_PREFIX "%d-%u%n", &pid, &number, &end) != 2 || name[end] ||
		pid <= 0)
		return false;
	/* With our own number it is somebody's who had it before. */
	return pid == getpid() || (kill(pid, 0) < 0 && errno == ESRCH);
}

static int remove_left(void *arg, int dirfd, const char *name, struct err *err)
{
	if (putback_dir_is_left(name) && unlinkat(dirfd, name, 0) < 0 && errno == EISDIR)
		(void)unlinkat(dirfd, name, AT_REMOVEDIR);
	return 0;
}

/* ---------------------------------------------------------------------- marks */

static void mark(int dir, const char *name, const struct putback_touched *touched)
{
	char text[MARK_BYTES];
	int len = touched->timed ? snprintf(text, sizeof(text), "%o %lld %ld", touched->mode,
					   (long long)touched->mtime.tv_sec, touched->mtime.tv_nsec)
				 : snprintf(text, sizeof(text), "%o", touched->mode);

	(void)at_xattr_set(dir, name, MARK, text, (size_t)len);
}

/* What a mark says; only the owner's rights may differ from what there is. */
static bool read_mark(int dir, const char *name, uint32_t now, struct putback_touched *touched)
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
	*touched = (struct putback_touched){ .mode = now };
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

bool putback_dir_is_marked(int dir, const char *name)
{
	char text[MARK_BYTES];

	return at_xattr_get(dir, name, MARK, text, sizeof(text)) > 0;
}

void putback_dir_unmark(int dir, const char *name)
{
	(void)at_xattr_remove(dir, name, MARK);
}

/* -------------------------------------------------------------------- touching */

static size_t slot_of(const struct putback_priv *priv, const char *dir)
{
	size_t hash = 14695981039346656037u; /* FNV-1a */

	for (const char *c = dir; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211u;
	size_t at = hash & (priv->n_slots - 1);
	while (priv->slots[at] && strcmp(priv->touched[priv->slots[at] - 1].dir, dir) != 0)
		at = (at + 1) & (priv->n_slots - 1);
	return at;
}

static bool is_touched(const struct putback_priv *priv, const char *dir)
{
	return priv->n_slots && priv->slots[slot_of(priv, dir)];
}

static void add_touched(
	struct putback_priv *priv, const char *dir, const struct putback_touched *touched)
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

/* "." cannot be reached without the right to search; by its descriptor it can. */
static int chmod_dir(int dir, uint32_t mode)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	return fchmodat(AT_FDCWD, self, mode, 0);
}

/* The names of an open directory are about to change. */
static int touch(struct putback *putback, int dir, const char *path, struct err *err)
{
	struct statx stx;

	if (is_touched(putback->priv, path))
		return 0;
	errno = -at_fd_stat(dir, &stx);
	if (errno)
		return err_errno(err, "look at '%s'", path);
	uint32_t mode = stx.stx_mode & 07777;
	struct putback_touched touched = {
		.mode = mode,
		.timed = true,
		.mtime = { stx.stx_mtime.tv_sec, (long)stx.stx_mtime.tv_nsec },
	};
	if ((mode & 0300) != 0300)
		touched.loosened = !chmod_dir(dir, mode | 0700);
	if (!putback->options.fresh)
		mark(dir, ".", &touched);
	add_touched(putback->priv, path, &touched);
	return 0;
}

int putback_dir_enter_old(struct putback *putback, const struct putback_step *step,
	const char **name, struct err *err)
{
	int dir = putback_plan_parent(putback, step->file->path, name, err);
	int rc = dir < 0 ? dir : touch(putback, dir, putback->priv->dir.data, err);

	return rc < 0 ? rc : dir;
}

/* Whole with its mode and mark under another name first, so that any umask will do. */
static int make_marked(struct putback *putback, int dir, const char *name, uint32_t mode)
{
	const struct putback_touched touched = { .mode = mode };
	char temp[PUTBACK_TEMP];

	putback_dir_temp(putback, temp);
	if (mkdirat(dir, temp, 0700) < 0)
		return -errno;
	mark(dir, temp, &touched);
	int rc = at_name_chmod(dir, temp, mode | 0700);
	if (rc == 0 && renameat2(dir, temp, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	/* A file system that cannot do that. */
	if (rc == 0)
		rc = errno == EINVAL && mkdirat(dir, name, 0700) == 0 ? 0 : -errno;
	(void)unlinkat(dir, temp, AT_REMOVEDIR);
	return rc;
}

int putback_dir_make(struct putback *putback, int dir, const char *name,
	const struct bundle_state *want, mode_t usual)
{
	if (want && want->type == BUNDLE_DIR && want->has & BUNDLE_HAS_MODE &&
		!putback->options.fresh)
		return make_marked(putback, dir, name, want->mode);
	return mkdirat(dir, name, usual) < 0 ? -errno : 0;
}

/* Make a directory that is no step; what the bundle knows of it is set at the end. */
static int make_parent(struct putback *putback, struct str path, struct err *err)
{
	const struct bundle_file *file = bundle_find(putback->bundle, path);
	const struct bundle_state *want = file ? &file->state[putback->options.side] : NULL;
	const char *name;
	int dir = putback_plan_parent(putback, path, &name, err);
	int rc = dir < 0 ? dir : touch(putback, dir, putback->priv->dir.data, err);

	if (rc < 0)
		return rc;
	owned_mem char *plain = mem_dup(path.ptr + 1, path.len - 1);
	name = plain + (name - path.ptr - 1);
	errno = -putback_dir_make(putback, dir, name, want, NEW_PARENT_MODE);
	if (errno)
		return errno == EEXIST ? 0 : err_errno(err, "make its directory");
	if (want && want->type == BUNDLE_DIR && want->has & BUNDLE_HAS_MODE &&
		!is_touched(putback->priv, plain))
		add_touched(putback->priv, plain,
			&(struct putback_touched){ .mode = want->mode, .loosened = true });
	return 0;
}

int putback_dir_enter(struct putback *putback, const struct putback_step *step, const char **name,
	struct err *err)
{
	struct str path = step->file->path;
	struct err missing = { 0 };
	int dir = putback_dir_enter_old(putback, step, name, &missing);

	if (dir >= 0)
		return dir;
	if (missing.code != ERR_NOT_FOUND) {
		*err = missing;
		return dir;
	}
	for (size_t len = 1; len < path.len; len++) {
		int rc = path.ptr[len] == '/'
				 ? make_parent(putback, (struct str){ path.ptr, len }, err)
				 : 0;

		if (rc < 0)
			return rc;
	}
	return putback_dir_enter_old(putback, step, name, err);
}

/* ------------------------------------------------------ what another one has left */

static void take_over(struct putback *putback, int dir, const char *path)
{
	struct putback_touched touched;
	struct err ignored = { 0 };
	struct statx stx;

	(void)at_each_name(dir, ".", remove_left, NULL, &ignored);
	if (!is_touched(putback->priv, path) && at_fd_stat(dir, &stx) == 0 &&
		read_mark(dir, ".", stx.stx_mode & 07777, &touched))
		add_touched(putback->priv, path, &touched);
}

void putback_dir_take_over(struct putback *putback)
{
	struct str last = STR("");

	for (size_t i = 0; i < putback->n_steps; i++) {
		struct str path = putback->steps[i].file->path;
		const char *name, *slash = memrchr(path.ptr, '/', path.len);
		struct str parent = { path.ptr, (size_t)(slash - path.ptr) };
		struct err ignored = { 0 };

		if (i && str_eq(parent, last))
			continue;
		last = parent;
		int dir = putback_plan_parent(putback, path, &name, &ignored);
		if (dir >= 0)
			take_over(putback, dir, putback->priv->dir.data);
	}
}

/* --------------------------------------------------------------------- the end */

/* The command did not change which names are in it: that a file was replaced shall not show. */
static void keep_time(int fd, const struct putback_touched *touched)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, touched->mtime };

	(void)futimens(fd, times);
}

/* A directory that is no step of its own: its mode as it was, its time as recorded. */
static void settle_touched(
	struct putback *putback, const struct putback_touched *touched, bool early)
{
	owned_mem char *path = mem_printf("/%s", strcmp(touched->dir, ".") ? touched->dir : "");
	const struct bundle_file *file = bundle_find(putback->bundle, str_of(path));
	const struct putback_step *step = putback_plan_find(putback, str_of(path));
	struct err ignored = { 0 };
	owned_fd int fd = at_open(
		putback->options.root, touched->dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK, &ignored);

	if (fd < 0)
		return;
	putback_sync_note(putback, fd);
	if (step && (step->action == PUTBACK_MAKE_DIR ||
			    (step->action == PUTBACK_ATTRIBUTES && !early)))
		return;
	if (file && file->state[putback->options.side].type == BUNDLE_DIR)
		(void)putback_attr_time(fd, ".", &file->state[putback->options.side], &ignored);
	else if (!file && touched->timed)
		keep_time(fd, touched);
	if (!putback->options.fresh)
		putback_dir_unmark(fd, ".");
	if (touched->loosened)
		(void)fchmod(fd, touched->mode);
}

/*
 * A directory in which names only came and went again has another time and nothing else to be
 * put back, so there is no step for it; and it may not have been touched.
 */
static bool is_retimed(const struct putback *putback, const struct bundle_file *file)
{
	const struct bundle_state *want = &file->state[putback->options.side];
	const struct bundle_state *other = &file->state[!putback->options.side];

	return want->exists && other->exists && !file->by_other && want->type == BUNDLE_DIR &&
	       other->type == BUNDLE_DIR && want->has & BUNDLE_HAS_MTIME &&
	       want->mtime != other->mtime && !putback_plan_find(putback, file->path);
}

/* Else something came or went there since. */
static bool has_time(int fd, const struct bundle_state *state)
{
	struct statx stx;

	return at_fd_stat(fd, &stx) == 0 &&
	       when_of(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec) == state->mtime;
}

static void retime(struct putback *putback)
{
	struct bundle *bundle = putback->bundle;
	struct err ignored = { 0 };

	for (size_t i = 0; i < bundle->n_files; i++) {
		const struct bundle_file *file = &bundle->files[i];

		if (!is_retimed(putback, file) || file->path.len == 1)
			continue;
		owned_fd int fd = at_open(putback->options.root, file->path.ptr + 1,
			O_RDONLY | O_DIRECTORY | O_NONBLOCK, &ignored);
		if (fd >= 0 && has_time(fd, &file->state[!putback->options.side]))
			(void)putback_attr_time(
				fd, ".", &file->state[putback->options.side], &ignored);
	}
}

static int deepest_first(const void *a, const void *b)
{
	return strcmp(
		((const struct putback_touched *)b)->dir, ((const struct putback_touched *)a)->dir);
}

void putback_dir_settle(struct putback *putback, bool early)
{
	struct putback_priv *priv = putback->priv;

	if (priv->n_touched)
		qsort(priv->touched, priv->n_touched, sizeof(*priv->touched), deepest_first);
	for (size_t i = 0; i < priv->n_touched; i++)
		settle_touched(putback, &priv->touched[i], early);
	if (!early)
		retime(putback);
}
