#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/bundle_content.h"
#include "trace/putback_priv.h"

#define BLOCK 4096
#define BATCH_FILES 4096
#define BATCH_BYTES ((uint64_t)256 << 20)

/* Under its temporary name. */
struct putback_made {
	struct putback_step *step;
	char temp[PUTBACK_TEMP];
};

static const struct bundle_state *wanted(
	const struct putback *putback, const struct putback_step *step)
{
	return &step->file->state[putback->options.side];
}

/* But for what was set by another name of it. */
bool putback_make_is_as_seen(
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

int putback_make_meanwhile(struct err *err)
{
	return err_set(err, ERR_BUSY, "it was changed meanwhile");
}

/* ----------------------------------------------------------------- a new one */

/* Where a content goes: blocks of zeros are holes. */
struct filling {
	int fd;
	uint64_t size, written; /* written: to where there are bytes */
};

static bool is_zero(const char *bytes, size_t len)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

static int write_piece(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct filling *filling = arg;
	const char *from = bytes;

	while (len) {
		size_t left = BLOCK - filling->size % BLOCK, n = len < left ? len : left;
		bool hole = n == BLOCK && is_zero(from, n);

		/* As many as are written at once. */
		while (!hole && n < len) {
			size_t more = len - n < BLOCK ? len - n : BLOCK;

			if (more == BLOCK && is_zero(from + n, more))
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
	struct filling filling = { .fd = fd };
	int rc = step->hollow ? 0
			      : bundle_content(putback->bundle, step->file, putback->options.side,
					write_piece, &filling, err);
	if (step->hollow)
		filling.size = wanted(putback, step)->size;
	if (rc >= 0 && filling.size > filling.written && ftruncate(fd, (off_t)filling.size) < 0)
		return err_errno(err, "give it its size");
	if (rc >= 0)
		rc = putback_attr_set(putback, step, dir, temp, err);
	if (rc >= 0)
		putback_sync_note(putback, fd);
	return rc;
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
		/* Both have to say so. */
		!bundle_is_linked(&file->state[putback->options.side], step->file->path))
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

/* It is made as a file of its own.  Unless others will be linked to it, it was not that. */
static void tell_copy(struct putback *putback, struct putback_step *step)
{
	const struct bundle_state *want = wanted(putback, step);
	size_t known = 1;
	bool awaited = false;

	for (size_t i = 0; i < want->n_links; i++) {
		const struct putback_step *other = putback_plan_find(putback, want->links[i]);

		known += !str_eq(want->links[i], step->file->path);
		awaited |= other && other != step && other->action == step->action;
	}
	if (known > 1 ? awaited && want->nlink <= known : want->nlink <= 1)
		return;
	step->copied = true;
	step->reason = want->nlink > known ? "it had other names, which were not seen: it is a copy"
					   : "its other names are not what they were: it is a copy";
}

static int make_file(struct putback *putback, struct putback_step *step, int dir, const char *temp,
	struct err *err)
{
	if (link_to_other(putback, step, dir, temp))
		return 0;
	tell_copy(putback, step);
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
	return putback_attr_set(putback, step, dir, temp, err);
}

static void add_made(struct putback *putback, struct putback_step *step, const char *temp)
{
	struct putback_priv *priv = putback->priv;

	mem_grow(&priv->made, &priv->cap_made, priv->n_made);
	struct putback_made *made = &priv->made[priv->n_made++];
	made->step = step;
	snprintf(made->temp, sizeof(made->temp), "%s", temp);
	priv->made_bytes += wanted(putback, step)->size;
}

int putback_make(struct putback *putback, struct putback_step *step, struct err *err)
{
	char temp[PUTBACK_TEMP];
	const char *name;
	int dir = putback_dir_enter(putback, step, &name, err);
	owned_fd int held = -1;

	if (dir < 0)
		return dir;
	/* Looking at other paths may open another directory. */
	if (wanted(putback, step)->n_links)
		dir = held = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		return err_errno(err, "hold its directory");
	putback_dir_temp(putback, temp);
	int rc = step->action == PUTBACK_WRITE ? make_file(putback, step, dir, temp, err)
					       : make_other(putback, step, dir, temp, err);
	if (rc < 0)
		(void)unlinkat(dir, temp, 0);
	else
		add_made(putback, step, temp);
	return rc;
}

bool putback_make_is_much(const struct putback *putback)
{
	return putback->priv->n_made >= BATCH_FILES || putback->priv->made_bytes >= BATCH_BYTES;
}

/* -------------------------------------------------------------- into place */

static int into_place(struct putback *putback, const struct putback_made *made, struct err *err)
{
	const char *name;
	int dir = putback_plan_parent(putback, made->step->file->path, &name, err);
	int rc = 0;

	if (dir < 0)
		return dir;
	if (!putback->options.force && !putback_make_is_as_seen(putback, made->step, dir, name))
		rc = putback_make_meanwhile(err);
	else if (renameat(dir, made->temp, dir, name) < 0)
		rc = err_errno(err, "rename it into place");
	/* Where both are names of one file already, rename does nothing. */
	if (rc < 0 || wanted(putback, made->step)->n_links)
		(void)unlinkat(dir, made->temp, 0);
	return rc;
}

static void forget_made(struct putback *putback)
{
	putback->priv->n_made = 0;
	putback->priv->made_bytes = 0;
}

void putback_make_discard(struct putback *putback)
{
	struct err ignored = { 0 };

	for (size_t i = 0; i < putback->priv->n_made; i++) {
		const struct putback_made *made = &putback->priv->made[i];
		const char *name;
		int dir = putback_plan_parent(putback, made->step->file->path, &name, &ignored);

		if (dir >= 0)
			(void)unlinkat(dir, made->temp, 0);
	}
	forget_made(putback);
	putback_sync_clear(putback);
}

int putback_make_finish(struct putback *putback,
	int (*tell)(struct putback *putback, struct putback_step *step, const struct err *why,
		struct err *err),
	struct err *err)
{
	struct putback_priv *priv = putback->priv;
	int rc = putback_sync_all(putback, err);
	size_t i = 0;

	for (; i < priv->n_made && rc >= 0; i++) {
		struct err why = { 0 };
		int placed = into_place(putback, &priv->made[i], &why);

		rc = tell(putback, priv->made[i].step, placed < 0 ? &why : NULL, err);
	}
	if (rc < 0) {
		memmove(priv->made, priv->made + i, (priv->n_made - i) * sizeof(*priv->made));
		priv->n_made -= i;
		putback_make_discard(putback);
	}
	forget_made(putback);
	return rc;
}

/* ------------------------------------------------------------- a directory */

int putback_make_dir(struct putback *putback, struct putback_step *step, struct err *err)
{
	const char *name;
	int dir = putback_dir_enter(putback, step, &name, err);

	if (dir < 0)
		return dir;
	if (step->seen.type == BUNDLE_DIR)
		return 0;
	errno = -putback_dir_make(
		putback, dir, name, wanted(putback, step), first_mode(putback, step, 0777));
	return errno ? err_errno(err, "make it") : 0;
}
