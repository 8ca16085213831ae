/* Reads the present state of a path, and compares it with a state in the bundle. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/bundle/bundle_content.h"
#include "trace/bundle/digest.h"
#include "trace/undo/restore_priv.h"

void restore_see_forget(struct restore *restore)
{
	close_fd(&restore->priv->dirfd);
	buf_clear(&restore->priv->dir);
}

int restore_see_parent(struct restore *restore, struct str path, const char **name, struct err *err)
{
	struct restore_priv *priv = restore->priv;
	const char *slash = memrchr(path.ptr, '/', path.len);
	struct str dir = { path.ptr + 1, slash > path.ptr ? (size_t)(slash - path.ptr - 1) : 0 };

	*name = slash + 1;
	if (!dir.len)
		dir = STR(".");
	if (priv->dirfd >= 0 && str_eq(dir, (struct str){ priv->dir.data, priv->dir.len }))
		return priv->dirfd;
	/* do not look up a missing directory again for each path below it */
	if (priv->planning && priv->missing.len && str_within(dir, priv->missing))
		return err_set(err, ERR_NOT_FOUND, "no file '%.*s'", (int)dir.len, dir.ptr);
	restore_see_forget(restore);
	buf_add(&priv->dir, dir.ptr, dir.len);
	priv->dirfd = at_open(restore->options.root, priv->dir.data, O_PATH | O_DIRECTORY, err);
	if (priv->dirfd < 0 && err->code == ERR_NOT_FOUND)
		priv->missing = dir;
	return priv->dirfd;
}

/*
 * Returns the length of the shortest beginning of a path that leads to an existing file other than
 * a directory.  Returns 0 if there is no such file.
 */
static size_t first_obstacle(const struct restore *restore, struct str path)
{
	struct err ignored = { 0 };

	for (size_t len = 1; len < path.len; len++) {
		if (path.ptr[len] != '/')
			continue;
		owned_mem char *part = mem_dup(path.ptr + 1, len - 1);
		owned_fd int fd =
			at_open(restore->options.root, part, O_PATH | O_DIRECTORY, &ignored);

		if (fd < 0)
			return ignored.code == ERR_NOT_FOUND ? 0 : len;
	}
	return 0;
}

/*
 * Handle a path whose parent directory cannot be opened, because a file is in the place of one of
 * its directories.  If the bundle has a directory in that place, the path simply does not exist
 * now.  Otherwise the function returns an error, since the file may be a symbolic link, and a
 * restore must not follow links.
 */
static int see_obstacle(
	const struct restore *restore, struct str path, const struct err *why, struct err *err)
{
	if (why->code == ERR_NOT_FOUND)
		return 0;
	size_t len = first_obstacle(restore, path);
	const struct bundle_file *file =
		len ? bundle_find(restore->bundle, (struct str){ path.ptr, len }) : NULL;

	if (file && (restore->options.fresh || bundle_is_changed(file)) &&
		(file->state[0].type == BUNDLE_DIR || file->state[1].type == BUNDLE_DIR))
		return 0;
	if (why->code == ERR_SYSTEM && why->errno_value != ENOTDIR) {
		*err = *why;
		return -(int)err->code;
	}
	return err_set(err, ERR_DENIED, "'%.*s' is a link or a file where a directory should be",
		(int)(len ? len : path.len), path.ptr);
}

/* ------------------------------------------------------------------- reading */

static int read_link_target(
	struct restore *restore, int dir, const char *name, struct restore_seen *seen)
{
	char target[PATH_MAX];
	ssize_t n = at_name_readlink(dir, name, target, sizeof(target));

	if (n < 0)
		return (int)n;
	seen->target = arena_str(&restore->priv->arena, (struct str){ target, (size_t)n });
	return 0;
}

int restore_see(struct restore *restore, const struct bundle_file *file, struct restore_seen *seen,
	struct err *err)
{
	struct err why = { 0 };
	struct statx stx;
	const char *name;
	int dir = restore_see_parent(restore, file->path, &name, &why);

	*seen = (struct restore_seen){ .type = BUNDLE_NONE };
	if (dir < 0)
		return see_obstacle(restore, file->path, &why, err);
	int rc = at_name_stat(dir, name, &stx);
	if (rc == -ENOENT)
		return 0;
	if (!rc) {
		seen->type = bundle_type_of(stx.stx_mode);
		seen->mode = stx.stx_mode & 07777;
		seen->uid = stx.stx_uid;
		seen->gid = stx.stx_gid;
		seen->size = stx.stx_size;
		seen->dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
		seen->ino = stx.stx_ino;
		seen->rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor);
		seen->mtime = when_of(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec);
		rc = seen->type == BUNDLE_LINK ? read_link_target(restore, dir, name, seen) : 0;
		seen->marked = seen->type == BUNDLE_DIR && restore_dir_is_marked(dir, name);
	}
	return rc < 0 ? err_number(err, -rc, "look at '%s'", file->path.ptr) : 0;
}

/*
 * Compute the digest of the file at a path.  The function 'digest' is digest_fd or digest_blocks.
 */
static int digest_path(struct restore *restore, const struct bundle_file *file,
	int (*digest)(int fd, struct hash *hash), struct hash *hash, struct err *err)
{
	const char *name;
	int dir = restore_see_parent(restore, file->path, &name, err);

	if (dir < 0)
		return dir;
	owned_fd int fd = at_name_read(dir, name);
	errno = fd < 0 ? -fd : -digest(fd, hash);
	return errno ? err_errno(err, "read '%s' to compare it", file->path.ptr) : 0;
}

/* ----------------------------------------------------------------- comparing */

bool restore_see_same_time(const struct bundle_state *state, int64_t mtime)
{
	if (state->has & BUNDLE_HAS_MTIME_NS)
		return state->mtime == mtime;
	return state->has & BUNDLE_HAS_MTIME && mtime >= state->mtime &&
	       mtime - state->mtime < WHEN_SECOND;
}

/* Whether the command only set the times of the file.  If so, both states have the same content. */
static bool is_only_retimed(const struct bundle_file *file)
{
	const unsigned kept = BUNDLE_EXISTENCE | BUNDLE_METADATA | BUNDLE_READ | BUNDLE_EXECUTE;
	const struct bundle_state *before = &file->state[BUNDLE_BEFORE];
	const struct bundle_state *after = &file->state[BUNDLE_AFTER];

	return file->operations & BUNDLE_METADATA && !(file->operations & ~kept) &&
	       before->exists && after->exists && before->size == after->size &&
	       !((before->has | after->has) & (BUNDLE_HAS_HASH | BUNDLE_HAS_BLOB));
}

static bool matches_time(const struct bundle_file *file, enum bundle_side side, int64_t mtime)
{
	enum bundle_side other = side == BUNDLE_BEFORE ? BUNDLE_AFTER : BUNDLE_BEFORE;

	if (!(file->state[side].has & BUNDLE_HAS_SIZE))
		return false;
	return restore_see_same_time(&file->state[side], mtime) ||
	       (is_only_retimed(file) && restore_see_same_time(&file->state[other], mtime));
}

static int matches_content(struct restore *restore, const struct bundle_file *file,
	enum bundle_side side, struct restore_seen *seen, struct err *err)
{
	const struct bundle_state *state = &file->state[side];
	struct hash want, blocks;
	int rc;

	if (state->has & BUNDLE_HAS_SIZE && state->size != seen->size)
		return 0;
	if ((state->has & (BUNDLE_HAS_HASH | BUNDLE_HAS_BLOCKS)) == BUNDLE_HAS_BLOCKS) {
		rc = digest_path(restore, file, digest_blocks, &blocks, err);
		return rc < 0 ? rc : hash_eq(&state->blocks, &blocks);
	}
	rc = bundle_content_hash(restore->bundle, file, side, &want, err);
	if (rc <= 0) /* the contents cannot be compared, so the times decide */
		return rc < 0 ? rc : matches_time(file, side, seen->mtime);
	if (!seen->hashed && (rc = digest_path(restore, file, digest_fd, &seen->hash, err)) < 0)
		return rc;
	seen->hashed = true;
	return hash_eq(&want, &seen->hash);
}

int restore_see_matches(struct restore *restore, const struct bundle_file *file,
	enum bundle_side side, struct restore_seen *seen, struct err *err)
{
	const struct bundle_state *state = &file->state[side];

	if (!state->exists)
		return seen->type == BUNDLE_NONE;
	if (state->type != seen->type)
		return 0;
	switch (seen->type) {
	case BUNDLE_FILE:
		return matches_content(restore, file, side, seen, err);
	case BUNDLE_LINK:
		return !(state->has & BUNDLE_HAS_TARGET) || str_eq(state->target, seen->target);
	case BUNDLE_CHAR:
	case BUNDLE_BLOCK:
		return !(state->has & BUNDLE_HAS_RDEV) || state->rdev == seen->rdev;
	default:
		return 1;
	}
}
