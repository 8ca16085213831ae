/*
 * The order: what has to go, deepest first; directories, the upper ones first; files,
 * links and nodes; then modes and times, those of directories last and deepest first, since
 * every change inside moves a directory's time.
 *
 * In a directory that lacks the owner's right to write we give it for the time, and take it back
 * at the end.  Where we may not, the change itself will tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/bundle_content.h"
#include "trace/putback_priv.h"

#define TEMP_PREFIX ".strata-tmp-"
#define TEMP_NAME 64
#define NEW_PARENT_MODE 0755

/* ---------------------------------------------------------------- reporting */

/* What would meet every other file, too. */
static bool fatal(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS ||
	       at_scarce(error);
}

/* This path is given up, or all of them: negative. */
static int give_up(
	struct putback *putback, struct putback_step *step, const struct err *why, struct err *err)
{
	if (why->code == ERR_SYSTEM && fatal(why->errno_value)) {
		*err = *why;
		return err_context(err, "'%s'", step->file->path.ptr);
	}
	step->action = PUTBACK_SKIP;
	step->failed = true;
	step->reason = arena_strdup(&putback->priv->arena, why->text);
	return 0;
}

static void advance(struct putback *putback)
{
	if (putback->options.progress)
		putback->options.progress(
			putback->options.arg, ++putback->priv->done, putback->n_steps);
}

/* -------------------------------------------------------------- directories */

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

static void add_touched(struct putback_priv *priv, const char *dir, uint32_t mode, bool loosened)
{
	mem_grow(&priv->touched, &priv->cap_touched, priv->n_touched);
	priv->touched[priv->n_touched++] = (struct putback_touched){
		.dir = mem_strdup(dir),
		.mode = mode,
		.loosened = loosened,
	};
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
	bool shut = (mode & 0300) != 0300;
	add_touched(putback->priv, path, mode, shut && !chmod_dir(dir, mode | 0700));
	struct putback_touched *touched = &putback->priv->touched[putback->priv->n_touched - 1];
	touched->timed = true;
	touched->mtime = (struct timespec){ stx.stx_mtime.tv_sec, (long)stx.stx_mtime.tv_nsec };
	return 0;
}

/* The directory of a step, ready for changes. */
static int enter(struct putback *putback, const struct putback_step *step, const char **name,
	struct err *err)
{
	int dir = putback_plan_parent(putback, step->file->path, name, err);
	int rc = dir < 0 ? dir : touch(putback, dir, putback->priv->dir.data, err);

	return rc < 0 ? rc : dir;
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
	if (mkdirat(dir, name, NEW_PARENT_MODE) < 0)
		return errno == EEXIST ? 0 : err_errno(err, "make its directory");
	if (want && want->type == BUNDLE_DIR && want->has & BUNDLE_HAS_MODE &&
		!is_touched(putback->priv, plain))
		add_touched(putback->priv, plain, want->mode, true);
	return 0;
}

int putback_apply_enter(struct putback *putback, const struct putback_step *step, const char **name,
	struct err *err)
{
	struct str path = step->file->path;
	struct err missing = { 0 };
	int dir = enter(putback, step, name, &missing);

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
	return enter(putback, step, name, err);
}

static const struct bundle_state *wanted(
	const struct putback *putback, const struct putback_step *step)
{
	return &step->file->state[putback->options.side];
}

/* ------------------------------------------------------------------ removal */

/* Whether what is there is still what the plan saw, but for what was set by another name of it. */
static bool is_as_seen(
	const struct putback *putback, const struct putback_step *step, int dir, const char *name)
{
	const struct putback_seen *seen = &step->seen;
	const struct bundle_state *want = wanted(putback, step);
	struct statx stx;
	int rc = at_name_stat(dir, name, &stx);

	if (rc < 0)
		return rc == -ENOENT && seen->type == BUNDLE_NONE;
	if (seen->type == BUNDLE_NONE || stx.stx_ino != seen->ino)
		return false;
	int64_t mtime = when_of(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec);
	return seen->type == BUNDLE_DIR ||
	       (stx.stx_size == seen->size &&
		       (mtime == seen->mtime || (want->n_links && mtime == want->mtime)));
}

static int changed_meanwhile(struct err *err)
{
	return err_set(err, ERR_BUSY, "it was changed meanwhile");
}

/* What the plan found may go along with its directory. */
static int remove_git(const struct putback_step *step, int dir, const char *name, struct err *err)
{
	owned_fd int inner = step->with_git ? at_name_open(dir, name, O_RDONLY | O_DIRECTORY) : -1;

	return inner < 0 ? 0 : at_remove_tree(inner, ".git", err);
}

static int remove_old(struct putback *putback, struct putback_step *step, struct err *err)
{
	bool is_dir = step->seen.type == BUNDLE_DIR;
	const char *name;
	int dir = enter(putback, step, &name, err);

	if (dir < 0)
		return dir;
	if (!putback->options.force && !is_as_seen(putback, step, dir, name))
		return changed_meanwhile(err);
	if (is_dir && (putback->options.fresh ? at_remove_tree(dir, name, err)
					      : remove_git(step, dir, name, err)) < 0)
		return -(int)err->code;
	if (unlinkat(dir, name, is_dir ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
		return err_errno(err, "remove");
	if (is_dir)
		putback_plan_forget(putback);
	step->seen.type = BUNDLE_NONE;
	return 0;
}

/* A directory cannot be renamed over a file, nor a file over a directory. */
static bool is_in_the_way(const struct putback_step *step)
{
	enum bundle_type now = step->seen.type;

	switch (step->action) {
	case PUTBACK_DELETE:
		return now != BUNDLE_NONE;
	case PUTBACK_MAKE_DIR:
		return now != BUNDLE_NONE && now != BUNDLE_DIR;
	case PUTBACK_WRITE:
	case PUTBACK_MAKE_LINK:
	case PUTBACK_MAKE_NODE:
		return now == BUNDLE_DIR;
	default:
		return false;
	}
}

/* left: that hold what has to be renamed out of them first; else all others. */
static int remove_all(struct putback *putback, bool left, struct err *err)
{
	for (size_t i = putback->n_steps; i-- > 0;) {
		struct putback_step *step = &putback->steps[i];
		struct err why = { 0 };

		if (!is_in_the_way(step) ||
			left != putback_move_leaves_from(putback, step->file->path))
			continue;
		int rc = remove_old(putback, step, &why);
		if (rc < 0 && (rc = give_up(putback, step, &why, err)) < 0)
			return rc;
		if (step->action == PUTBACK_DELETE) {
			putback->deleted++;
			advance(putback);
		}
	}
	return 0;
}

/* --------------------------------------------------------------- attributes */

static bool has_xattr(const struct bundle_state *state, const char *name)
{
	for (size_t i = 0; i < state->n_xattrs; i++)
		if (!strcmp(state->xattrs[i].name, name))
			return true;
	return false;
}

/* Those that the other side alone has are taken away; others are not ours. */
static int set_xattrs(struct putback *putback, const struct putback_step *step, int dir,
	const char *name, struct err *err)
{
	const struct bundle_state *want = wanted(putback, step);
	const struct bundle_state *other = &step->file->state[!putback->options.side];

	for (size_t i = 0; i < other->n_xattrs; i++)
		if (!has_xattr(want, other->xattrs[i].name))
			(void)at_xattr_remove(dir, name, other->xattrs[i].name);
	for (size_t i = 0; i < want->n_xattrs; i++) {
		const struct attr *xattr = &want->xattrs[i];

		errno = -at_xattr_set(dir, name, xattr->name, xattr->value.ptr, xattr->value.len);
		if (errno && errno != EPERM)
			return err_errno(err, "set %s", xattr->name);
	}
	return 0;
}

static struct timespec time_of(int64_t ns)
{
	int64_t rest = ns % WHEN_SECOND;

	if (rest < 0)
		rest += WHEN_SECOND;
	return (struct timespec){ .tv_sec = (ns - rest) / WHEN_SECOND, .tv_nsec = rest };
}

static int set_time(int dir, const char *name, const struct bundle_state *want, struct err *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, time_of(want->mtime) };

	/* What is told of a time beyond is not that time. */
	if (!(want->has & BUNDLE_HAS_MTIME) || want->mtime >= WHEN_LAST ||
		want->mtime <= WHEN_FIRST)
		return 0;
	if (utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(err, "set its time");
	return 0;
}

/*
 * The owner first, since it clears setuid and capabilities; the mode last, since without
 * permission to write the rest cannot be set.  An owner we may not give stays ours.
 */
static int set_attributes(struct putback *putback, const struct putback_step *step, int dir,
	const char *name, struct err *err)
{
	const struct bundle_state *want = wanted(putback, step);
	uid_t uid = want->has & BUNDLE_HAS_UID ? want->uid : (uid_t)-1;
	gid_t gid = want->has & BUNDLE_HAS_GID ? want->gid : (gid_t)-1;
	int rc;

	if (fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != EPERM &&
		errno != EINVAL)
		return err_errno(err, "set its owner");
	if ((rc = set_xattrs(putback, step, dir, name, err)) < 0 ||
		(rc = set_time(dir, name, want, err)) < 0)
		return rc;
	if (want->type == BUNDLE_LINK || !(want->has & BUNDLE_HAS_MODE))
		return 0;
	errno = -at_name_chmod(dir, name, want->mode);
	return errno ? err_errno(err, "set its mode") : 0;
}

/* ------------------------------------------------------------------- making */

static void temp_name(struct putback *putback, char out[TEMP_NAME])
{
	snprintf(out, TEMP_NAME, TEMP_PREFIX "%d-%u", (int)getpid(), putback->priv->temp++);
}

static int write_piece(void *arg, const void *bytes, size_t len, struct err *err)
{
	errno = -at_write_all(*(int *)arg, bytes, len);
	return errno ? err_errno(err, "write its content") : 0;
}

/* Give a thing made under a temporary name its own. */
static int into_place(struct putback *putback, const struct putback_step *step, int dir,
	const char *temp, const char *name, struct err *err)
{
	if (!putback->options.force && !is_as_seen(putback, step, dir, name))
		return changed_meanwhile(err);
	if (renameat(dir, temp, dir, name) < 0)
		return err_errno(err, "rename it into place");
	return 0;
}

/* Ours alone until the recorded one is set; where none is, as it is now, or as anything new. */
static mode_t first_mode(
	const struct putback *putback, const struct putback_step *step, mode_t usual)
{
	const struct bundle_state *want = wanted(putback, step);

	if (want->has & BUNDLE_HAS_MODE)
		return want->type == BUNDLE_DIR ? 0700 : 0600;
	return step->seen.type == want->type ? step->seen.mode & 0777 : usual;
}

static int fill_file(struct putback *putback, const struct putback_step *step, int dir,
	const char *temp, struct err *err)
{
	owned_fd int fd = at_create(
		dir, temp, O_WRONLY | O_EXCL | O_NOFOLLOW, first_mode(putback, step, 0666), err);

	if (fd < 0)
		return fd;
	if (step->hollow && ftruncate(fd, (off_t)wanted(putback, step)->size) < 0)
		return err_errno(err, "give it its size");
	int rc = step->hollow ? 0
			      : bundle_content(putback->bundle, step->file, putback->options.side,
					write_piece, &fd, err);
	if (rc >= 0)
		rc = set_attributes(putback, step, dir, temp, err);
	return rc < 0 ? rc : at_fsync(fd, temp, err);
}

/* Whether it has this name, too: both have to say so. */
static bool is_linked(const struct bundle_state *state, struct str path)
{
	for (size_t i = 0; i < state->n_links; i++)
		if (str_eq(state->links[i], path))
			return true;
	return false;
}

/* The path, if it is as the bundle wants it, is another name of this file: link to it. */
static int try_link(struct putback *putback, const struct putback_step *step, struct str path,
	int dir, const char *temp, struct err *err)
{
	const struct bundle_file *file = bundle_find(putback->bundle, path);
	enum bundle_type type = wanted(putback, step)->type;
	struct putback_seen seen;
	const char *name;

	if (!file || file == step->file || file->state[putback->options.side].type != type ||
		!is_linked(&file->state[putback->options.side], step->file->path))
		return 0;
	int rc = putback_plan_see(putback, file, &seen, err);
	if (rc >= 0)
		rc = putback_plan_matches(putback, file, putback->options.side, &seen, err);
	if (rc <= 0 || seen.type != type)
		return rc < 0 ? rc : 0;
	int from = putback_plan_parent(putback, path, &name, err);
	if (from < 0)
		return from;
	return linkat(from, name, dir, temp, 0) == 0;
}

static bool link_to_other(
	struct putback *putback, const struct putback_step *step, int dir, const char *temp)
{
	const struct bundle_state *want = wanted(putback, step);
	struct err ignored = { 0 };

	for (size_t i = 0; i < want->n_links; i++)
		if (try_link(putback, step, want->links[i], dir, temp, &ignored) > 0)
			return true;
	return false;
}

static int make_file(struct putback *putback, const struct putback_step *step, int dir,
	const char *temp, struct err *err)
{
	if (link_to_other(putback, step, dir, temp))
		return 0;
	return fill_file(putback, step, dir, temp, err);
}

static int make_other(struct putback *putback, const struct putback_step *step, int dir,
	const char *temp, struct err *err)
{
	const struct bundle_state *want = wanted(putback, step);
	static const mode_t formats[] = {
		[BUNDLE_FIFO] = S_IFIFO, [BUNDLE_CHAR] = S_IFCHR, [BUNDLE_BLOCK] = S_IFBLK
	};

	if (link_to_other(putback, step, dir, temp))
		return 0;
	if (want->type == BUNDLE_LINK
			? symlinkat(want->target.ptr, dir, temp)
			: mknodat(dir, temp, formats[want->type] | first_mode(putback, step, 0666),
				  want->rdev))
		return err_errno(err, "make it");
	return set_attributes(putback, step, dir, temp, err);
}

static int make(struct putback *putback, struct putback_step *step, struct err *err)
{
	char temp[TEMP_NAME];
	const char *name;
	int parent = putback_apply_enter(putback, step, &name, err);
	/* Looking at other paths may open another directory. */
	owned_fd int dir = parent < 0 ? -1 : fcntl(parent, F_DUPFD_CLOEXEC, 0);

	if (parent < 0)
		return parent;
	if (dir < 0)
		return err_errno(err, "hold its directory");
	temp_name(putback, temp);
	(void)unlinkat(dir, temp, 0); /* left by a run that died */
	int rc = step->action == PUTBACK_WRITE ? make_file(putback, step, dir, temp, err)
					       : make_other(putback, step, dir, temp, err);
	if (rc >= 0)
		rc = into_place(putback, step, dir, temp, name, err);
	/* Where both are names of one file already, rename does nothing. */
	(void)unlinkat(dir, temp, 0);
	return rc;
}

static int make_dir(struct putback *putback, struct putback_step *step, struct err *err)
{
	const char *name;
	int dir = putback_apply_enter(putback, step, &name, err);

	if (dir < 0)
		return dir;
	if (step->seen.type == BUNDLE_DIR)
		return 0;
	if (mkdirat(dir, name, first_mode(putback, step, 0777)) < 0)
		return err_errno(err, "make it");
	return 0;
}

static int settle_file(struct putback *putback, struct putback_step *step, struct err *err)
{
	const char *name;
	int dir = putback_plan_parent(putback, step->file->path, &name, err);

	if (dir < 0)
		return dir;
	if (!putback->options.fresh && !is_as_seen(putback, step, dir, name))
		return changed_meanwhile(err);
	return set_attributes(putback, step, dir, name, err);
}

/* Directories first, then what is in them. */
enum stage { STAGE_DIRS, STAGE_FILES };

/* The part of a step that belongs to a stage: 1 done, 0 there is none, negative. */
static int act(
	struct putback *putback, struct putback_step *step, enum stage stage, struct err *err)
{
	int rc;

	switch (step->action) {
	case PUTBACK_MAKE_DIR:
		if (stage != STAGE_DIRS)
			return 0;
		rc = make_dir(putback, step, err);
		break;
	case PUTBACK_WRITE:
	case PUTBACK_MAKE_LINK:
	case PUTBACK_MAKE_NODE:
		if (stage != STAGE_FILES)
			return 0;
		rc = make(putback, step, err);
		break;
	case PUTBACK_ATTRIBUTES:
		if (stage != STAGE_FILES || step->seen.type == BUNDLE_DIR)
			return 0;
		rc = settle_file(putback, step, err);
		break;
	default:
		return 0;
	}
	return rc < 0 ? rc : 1;
}

static int run_stage(struct putback *putback, enum stage stage, struct err *err)
{
	for (size_t i = 0; i < putback->n_steps; i++) {
		struct putback_step *step = &putback->steps[i];
		struct err why = { 0 };
		int done = act(putback, step, stage, &why);
		int rc = done < 0 ? give_up(putback, step, &why, err) : 0;

		if (rc < 0)
			return rc;
		putback->restored += done > 0;
		if (done)
			advance(putback);
	}
	return 0;
}

/* Those whose place is free; exchange: one whose place is not.  How many, or negative. */
static int move_some(struct putback *putback, bool exchange, struct err *err)
{
	int count = 0;

	for (size_t i = 0; i < putback->n_moves && !(exchange && count); i++) {
		struct putback_move *move = &putback->moves[i];
		struct err why = { 0 };

		if (move->step.action != PUTBACK_MOVE || move->done)
			continue;
		int done = putback_move_apply(putback, move, exchange, &why);
		int rc = done < 0 ? give_up(putback, &move->step, &why, err) : 0;
		if (rc < 0)
			return rc;
		count += done != 0;
	}
	return count;
}

/* One may be in another's place: then that one goes first, or they are exchanged. */
static int move_all(struct putback *putback, struct err *err)
{
	int count = 1;

	while (count > 0) {
		count = move_some(putback, false, err);
		if (!count)
			count = move_some(putback, true, err);
	}
	for (size_t i = 0; i < putback->n_moves; i++)
		putback->restored += putback->moves[i].done;
	return count;
}

/* -------------------------------------------------- directories, at the end */

static int settle_dir(struct putback *putback, struct putback_step *step, struct err *err)
{
	const char *name;
	int dir = putback_plan_parent(putback, step->file->path, &name, err);

	return dir < 0 ? dir : set_attributes(putback, step, dir, name, err);
}

static int settle_dirs(struct putback *putback, struct err *err)
{
	for (size_t i = putback->n_steps; i-- > 0;) {
		struct putback_step *step = &putback->steps[i];
		bool changed = step->action == PUTBACK_ATTRIBUTES;
		struct err why = { 0 };

		if (step->action != PUTBACK_MAKE_DIR && !(changed && step->seen.type == BUNDLE_DIR))
			continue;
		int rc = settle_dir(putback, step, &why);
		if (rc < 0 && (rc = give_up(putback, step, &why, err)) < 0)
			return rc;
		if (changed && !step->failed)
			putback->restored++;
	}
	return 0;
}

/* The command did not change which names are in it: that a file was replaced shall not show. */
static void keep_time(int fd, const struct putback_touched *touched)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, touched->mtime };

	(void)futimens(fd, times);
}

/* A directory that is no step of its own: its mode as it was, its time as recorded. */
static void settle_touched(struct putback *putback, const struct putback_touched *touched)
{
	owned_mem char *path = mem_printf("/%s", strcmp(touched->dir, ".") ? touched->dir : "");
	const struct bundle_file *file = bundle_find(putback->bundle, str_of(path));
	const struct putback_step *step = putback_plan_find(putback, str_of(path));
	struct err ignored = { 0 };
	owned_fd int fd = at_open(
		putback->options.root, touched->dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK, &ignored);

	if (fd < 0)
		return;
	(void)fsync(fd);
	if (step && (step->action == PUTBACK_MAKE_DIR || step->action == PUTBACK_ATTRIBUTES))
		return;
	if (file && file->state[putback->options.side].type == BUNDLE_DIR)
		(void)set_time(fd, ".", &file->state[putback->options.side], &ignored);
	else if (!file && touched->timed)
		keep_time(fd, touched);
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

static void retime_directories(struct putback *putback)
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
			(void)set_time(fd, ".", &file->state[putback->options.side], &ignored);
	}
}

static int deepest_first(const void *a, const void *b)
{
	return strcmp(
		((const struct putback_touched *)b)->dir, ((const struct putback_touched *)a)->dir);
}

static void settle_all_touched(struct putback *putback)
{
	struct putback_priv *priv = putback->priv;

	if (priv->n_touched)
		qsort(priv->touched, priv->n_touched, sizeof(*priv->touched), deepest_first);
	for (size_t i = 0; i < priv->n_touched; i++)
		settle_touched(putback, &priv->touched[i]);
}

/* ---------------------------------------------------------------- the whole */

static void count(struct putback *putback)
{
	for (size_t i = 0; i < putback->n_steps; i++) {
		const struct putback_step *step = &putback->steps[i];

		putback->unchanged += step->action == PUTBACK_NOTHING;
		putback->skipped += step->action == PUTBACK_SKIP;
		putback->failed += step->failed;
	}
	for (size_t i = 0; i < putback->n_moves; i++)
		putback->failed += putback->moves[i].step.failed;
}

int putback_apply(struct putback *putback, struct err *err)
{
	int rc;

	if (putback->conflicts)
		return err_set(err, ERR_BUSY, "%zu %s changed since; nothing was touched",
			putback->conflicts, putback->conflicts == 1 ? "path was" : "paths were");
	if (putback->missing)
		return err_set(err, ERR_NOT_FOUND,
			"the bundle lacks what %zu %s; nothing was touched", putback->missing,
			putback->missing == 1 ? "path needs" : "paths need");
	if ((rc = remove_all(putback, false, err)) >= 0 &&
		(rc = run_stage(putback, STAGE_DIRS, err)) >= 0 &&
		(rc = move_all(putback, err)) >= 0 && (rc = remove_all(putback, true, err)) >= 0)
		rc = run_stage(putback, STAGE_FILES, err);
	/* Even when it ended early: rights that were given must not remain. */
	struct err ignored = { 0 };
	int last = settle_dirs(putback, rc < 0 ? &ignored : err);
	settle_all_touched(putback);
	retime_directories(putback);
	count(putback);
	return rc < 0 ? rc : last < 0 ? last : 0;
}
