/* Makes regular files, symbolic links, special files and directories. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/bytes.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/place.h"
#include "core/when.h"
#include "trace/bundle/bundle_content.h"
#include "trace/undo/restore_priv.h"

#define BLOCK 4096
#define CHANGED_MEANWHILE "it was changed meanwhile"
#define BATCH_FILES 4096
#define BATCH_BYTES ((uint64_t)256 << 20)

/* A file that still has a temporary name. */
struct restore_made {
	struct restore_step *step;
	char temp[RESTORE_TEMP];
};

static const struct bundle_state *wanted(
	const struct restore *restore, const struct restore_step *step)
{
	return &step->file->state[restore->options.side];
}

/*
 * Whether the path is still in the state that the plan found.  The file may also have the wanted
 * time: this restore may have set the time under another name of the file.
 */
static bool is_as_seen(
	const struct restore *restore, const struct restore_step *step, int dir, const char *name)
{
	const struct restore_seen *seen = &step->seen;
	const struct bundle_state *want = wanted(restore, step);
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

int restore_make_check(const struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err)
{
	return is_as_seen(restore, step, dir, name) ? 0 : err_set(err, ERR_BUSY, CHANGED_MEANWHILE);
}

/* ---------------------------------------------- files under temporary names */

/* A file whose content is being written.  Blocks of zeros are left out and become holes. */
struct filling {
	int fd;
	/* 'written' is the end of the last bytes that were written; a hole may follow */
	uint64_t size, written;
};

static int write_piece(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct filling *filling = arg;
	const char *from = bytes;

	while (len) {
		size_t left = BLOCK - filling->size % BLOCK, n = len < left ? len : left;
		bool hole = n == BLOCK && bytes_are_zero(from, n);

		/* Gather as many consecutive blocks as possible for one write. */
		while (!hole && n < len) {
			size_t more = len - n < BLOCK ? len - n : BLOCK;

			if (more == BLOCK && bytes_are_zero(from + n, more))
				break;
			n += more;
		}
		errno = hole ? 0 : -at_pwrite_all(filling->fd, from, n, filling->size);
		if (errno)
			return err_errno(err, "write its content");
		filling->size += n;
		if (!hole)
			filling->written = filling->size;
		from += n;
		len -= n;
	}
	return 0;
}

/*
 * Returns the mode with which a file is made.  If the mode of the file is recorded, only the owner
 * can access the file until that mode is set.  Otherwise the file gets the mode of the file that it
 * replaces, or the mode 'usual' if it replaces no file.
 */
static mode_t first_mode(
	const struct restore *restore, const struct restore_step *step, mode_t usual)
{
	const struct bundle_state *want = wanted(restore, step);

	if (want->has & BUNDLE_HAS_MODE)
		return want->type == BUNDLE_DIR ? 0700 : 0600;
	return step->seen.type == want->type ? step->seen.mode & 0777 : usual;
}

static int fill_file(struct restore *restore, const struct restore_step *step, int dir,
	const char *temp, struct err *err)
{
	owned_fd int fd = at_create(
		dir, temp, O_WRONLY | O_EXCL | O_NOFOLLOW, first_mode(restore, step, 0666), err);

	if (fd < 0)
		return fd;
	struct filling filling = { .fd = fd };
	int rc = step->hollow ? 0
			      : bundle_content(restore->bundle, step->file, restore->options.side,
					write_piece, &filling, err);
	if (step->hollow)
		filling.size = wanted(restore, step)->size;
	if (rc >= 0 && filling.size > filling.written && ftruncate(fd, (off_t)filling.size) < 0)
		return err_errno(err, "give it its size");
	if (rc >= 0)
		rc = restore_attr_set(restore, step, dir, temp, err);
	if (rc >= 0)
		restore_sync_note(restore, fd);
	return rc;
}

/*
 * Make a hard link to 'path', with the temporary name 'temp'.  This is possible if 'path' is
 * another name of the step's file and is in the wanted state.  Returns 1 on success, 0 if this is
 * not possible, or a negative error.
 */
static int try_link(struct restore *restore, const struct restore_step *step, struct str path,
	int dir, const char *temp, struct err *err)
{
	const struct bundle_file *file = bundle_find(restore->bundle, path);
	enum bundle_type type = wanted(restore, step)->type;
	struct restore_seen seen;
	const char *name;

	/* each of the two records has to list the path of the other as a name */
	if (!file || file == step->file || file->state[restore->options.side].type != type ||
		!bundle_is_linked(&file->state[restore->options.side], step->file->path))
		return 0;
	int rc = restore_see(restore, file, &seen, err);
	if (rc >= 0)
		rc = restore_see_matches(restore, file, restore->options.side, &seen, err);
	if (rc <= 0 || seen.type != type)
		return rc < 0 ? rc : 0;
	int from = restore_see_parent(restore, path, &name, err);
	if (from < 0)
		return from;
	return linkat(from, name, dir, temp, 0) == 0;
}

static bool link_to_other(
	struct restore *restore, const struct restore_step *step, int dir, const char *temp)
{
	const struct bundle_state *want = wanted(restore, step);
	struct err ignored = { 0 };

	for (size_t i = 0; i < want->n_links; i++)
		if (try_link(restore, step, want->links[i], dir, temp, &ignored) > 0)
			return true;
	return false;
}

/*
 * To be called when a file is written anew.  If any other name of the file will not be linked to
 * the new file, record in the step that the new file is a copy.
 */
static void note_copy(struct restore *restore, struct restore_step *step)
{
	const struct bundle_state *want = wanted(restore, step);
	size_t known = 1;
	bool awaited = false;

	for (size_t i = 0; i < want->n_links; i++) {
		const struct restore_step *other = restore_plan_find(restore, want->links[i]);

		known += !str_eq(want->links[i], step->file->path);
		awaited |= other && other != step && other->action == step->action;
	}
	if (known > 1 ? awaited && want->nlink <= known : want->nlink <= 1)
		return;
	step->copied = true;
	step->reason = want->nlink > known
			       ? "it is a copy, since it had other names that were not seen"
			       : "it is a copy, since its other names are not what they were";
}

static int make_other(struct restore *restore, const struct restore_step *step, int dir,
	const char *temp, struct err *err)
{
	const struct bundle_state *want = wanted(restore, step);
	static const mode_t formats[] = {
		[BUNDLE_FIFO] = S_IFIFO, [BUNDLE_CHAR] = S_IFCHR, [BUNDLE_BLOCK] = S_IFBLK
	};

	if (want->type == BUNDLE_LINK
			? symlinkat(want->target.ptr, dir, temp)
			: mknodat(dir, temp, formats[want->type] | first_mode(restore, step, 0666),
				  want->rdev))
		return err_errno(err, "make it");
	return restore_attr_set(restore, step, dir, temp, err);
}

static void add_made(struct restore *restore, struct restore_step *step, const char *temp)
{
	struct restore_priv *priv = restore->priv;

	mem_grow(&priv->made, &priv->cap_made, priv->n_made);
	struct restore_made *made = &priv->made[priv->n_made++];
	made->step = step;
	snprintf(made->temp, sizeof(made->temp), "%s", temp);
	priv->made_bytes += wanted(restore, step)->size;
}

int restore_make(struct restore *restore, struct restore_step *step, struct err *err)
{
	char temp[RESTORE_TEMP];
	const char *name;
	int dir = restore_dir_enter(restore, step->file->path, &name, err);
	owned_fd int held = -1;

	if (dir < 0)
		return dir;
	/*
	 * Duplicate the descriptor of the directory, since looking for other names of the file may
	 * close 'dir'.
	 */
	if (wanted(restore, step)->n_links)
		dir = held = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		return err_errno(err, "hold its directory");
	restore_dir_temp(restore, temp);
	int rc = 0;
	if (!link_to_other(restore, step, dir, temp)) {
		if (step->action == RESTORE_WRITE)
			note_copy(restore, step);
		rc = step->action == RESTORE_WRITE ? fill_file(restore, step, dir, temp, err)
						   : make_other(restore, step, dir, temp, err);
	}
	if (rc < 0)
		(void)unlinkat(dir, temp, 0);
	else
		add_made(restore, step, temp);
	return rc;
}

bool restore_make_is_much(const struct restore *restore)
{
	return restore->priv->n_made >= BATCH_FILES || restore->priv->made_bytes >= BATCH_BYTES;
}

/* -------------------------------------------------------------- renaming */

struct replacing {
	const struct restore *restore;
	const struct restore_step *step;
};

static bool is_planned(void *arg, int dir, const char *name)
{
	const struct replacing *replacing = arg;

	return is_as_seen(replacing->restore, replacing->step, dir, name);
}

static int replace_as_planned(struct restore *restore, const struct restore_made *made, int dir,
	const char *name, struct err *err)
{
	struct replacing replacing = { restore, made->step };
	struct place place = {
		.dirfd = dir,
		.temporary = made->temp,
		.name = name,
		.is_old = made->step->seen.type == BUNDLE_NONE ? NULL : is_planned,
		.arg = &replacing,
	};
	int rc = restore_make_check(restore, made->step, dir, name, err);

	if (rc < 0)
		return rc;
	rc = place_rename(&place);
	if (rc < 0)
		return err_number(err, -rc, "%s", place.failed);
	return rc ? 0 : err_set(err, ERR_BUSY, CHANGED_MEANWHILE);
}

static int rename_into_place(
	struct restore *restore, const struct restore_made *made, struct err *err)
{
	const char *name;
	int dir = restore_see_parent(restore, made->step->file->path, &name, err);
	int rc = 0;

	if (dir < 0)
		return dir;
	if (!restore->options.force)
		rc = replace_as_planned(restore, made, dir, name, err);
	else if (renameat(dir, made->temp, dir, name) < 0)
		rc = err_errno(err, "rename it into place");
	/*
	 * rename(2) does nothing if the two names already belong to the same file.  So remove the
	 * temporary name.
	 */
	if (rc < 0 || wanted(restore, made->step)->n_links)
		(void)unlinkat(dir, made->temp, 0);
	return rc;
}

static void forget_made(struct restore *restore)
{
	restore->priv->n_made = 0;
	restore->priv->made_bytes = 0;
}

void restore_make_discard(struct restore *restore)
{
	struct err ignored = { 0 };

	for (size_t i = 0; i < restore->priv->n_made; i++) {
		const struct restore_made *made = &restore->priv->made[i];
		const char *name;
		int dir = restore_see_parent(restore, made->step->file->path, &name, &ignored);

		if (dir >= 0)
			(void)unlinkat(dir, made->temp, 0);
	}
	forget_made(restore);
	restore_sync_clear(restore);
}

int restore_make_finish(struct restore *restore,
	int (*report)(struct restore *restore, struct restore_step *step, const struct err *why,
		struct err *err),
	struct err *err)
{
	struct restore_priv *priv = restore->priv;
	int rc = restore_sync_all(restore, err);
	size_t i = 0;

	for (; i < priv->n_made && rc >= 0; i++) {
		struct err why = { 0 };
		int placed = rename_into_place(restore, &priv->made[i], &why);

		rc = report(restore, priv->made[i].step, placed < 0 ? &why : NULL, err);
	}
	if (rc < 0) {
		memmove(priv->made, priv->made + i, (priv->n_made - i) * sizeof(*priv->made));
		priv->n_made -= i;
		restore_make_discard(restore);
	}
	forget_made(restore);
	return rc;
}

/* ------------------------------------------------------ making a directory */

int restore_make_dir(struct restore *restore, struct restore_step *step, struct err *err)
{
	const char *name;
	int dir = restore_dir_enter(restore, step->file->path, &name, err);

	if (dir < 0)
		return dir;
	if (step->seen.type == BUNDLE_DIR)
		return 0;
	errno = -restore_dir_make(
		restore, dir, name, wanted(restore, step), first_mode(restore, step, 0777));
	return errno ? err_errno(err, "make it") : 0;
}
