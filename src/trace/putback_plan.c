#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/bundle_content.h"
#include "trace/digest.h"
#include "trace/putback_priv.h"

/* -------------------------------------------------------------- directories */

void putback_plan_forget(struct putback *putback)
{
	close_fd(&putback->priv->dirfd);
	buf_clear(&putback->priv->dir);
}

int putback_plan_parent(
	struct putback *putback, struct str path, const char **name, struct err *err)
{
	struct putback_priv *priv = putback->priv;
	const char *slash = memrchr(path.ptr, '/', path.len);
	struct str dir = { path.ptr + 1, slash > path.ptr ? (size_t)(slash - path.ptr - 1) : 0 };

	*name = slash + 1;
	if (!dir.len)
		dir = STR(".");
	if (priv->dirfd >= 0 && str_eq(dir, (struct str){ priv->dir.data, priv->dir.len }))
		return priv->dirfd;
	/* Of many in a directory that is not there it is asked for once. */
	if (priv->planning && priv->missing.len && str_starts(dir, priv->missing) &&
		(dir.len == priv->missing.len || dir.ptr[priv->missing.len] == '/'))
		return err_set(err, ERR_NOT_FOUND, "no file '%.*s'", (int)dir.len, dir.ptr);
	putback_plan_forget(putback);
	buf_add(&priv->dir, dir.ptr, dir.len);
	priv->dirfd = at_open(putback->options.root, priv->dir.data, O_PATH | O_DIRECTORY, err);
	if (priv->dirfd < 0 && err->code == ERR_NOT_FOUND)
		priv->missing = dir;
	return priv->dirfd;
}

/* The first part of a path that is there and is no directory, as length; 0: none is. */
static size_t first_obstacle(const struct putback *putback, struct str path)
{
	struct err ignored = { 0 };

	for (size_t len = 1; len < path.len; len++) {
		if (path.ptr[len] != '/')
			continue;
		owned_mem char *part = mem_dup(path.ptr + 1, len - 1);
		owned_fd int fd =
			at_open(putback->options.root, part, O_PATH | O_DIRECTORY, &ignored);

		if (fd < 0)
			return ignored.code == ERR_NOT_FOUND ? 0 : len;
	}
	return 0;
}

/*
 * The parent cannot be opened.  Where the bundle itself has a directory in place of what is in
 * the way, nothing is below it yet; else it is not ours to go through.
 */
static int see_obstacle(
	const struct putback *putback, struct str path, const struct err *why, struct err *err)
{
	if (why->code == ERR_NOT_FOUND)
		return 0;
	size_t len = first_obstacle(putback, path);
	const struct bundle_file *file =
		len ? bundle_find(putback->bundle, (struct str){ path.ptr, len }) : NULL;

	if (file && (putback->options.fresh || bundle_is_changed(file)) &&
		(file->state[0].type == BUNDLE_DIR || file->state[1].type == BUNDLE_DIR))
		return 0;
	if (why->code == ERR_SYSTEM && why->errno_value != ENOTDIR) {
		*err = *why;
		return -(int)err->code;
	}
	return err_set(err, ERR_DENIED, "'%.*s' is a link or a file where a directory should be",
		(int)(len ? len : path.len), path.ptr);
}

/* ------------------------------------------------------------------- seeing */

static int see_target(struct putback *putback, int dir, const char *name, struct putback_seen *seen)
{
	char target[PATH_MAX];
	ssize_t n = at_name_readlink(dir, name, target, sizeof(target));

	if (n < 0)
		return (int)n;
	seen->target = arena_str(&putback->priv->arena, (struct str){ target, (size_t)n });
	return 0;
}

int putback_plan_see(struct putback *putback, const struct bundle_file *file,
	struct putback_seen *seen, struct err *err)
{
	struct err why = { 0 };
	struct statx stx;
	const char *name;
	int dir = putback_plan_parent(putback, file->path, &name, &why);

	*seen = (struct putback_seen){ .type = BUNDLE_NONE };
	if (dir < 0)
		return see_obstacle(putback, file->path, &why, err);
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
		rc = seen->type == BUNDLE_LINK ? see_target(putback, dir, name, seen) : 0;
		seen->marked = seen->type == BUNDLE_DIR && putback_dir_is_marked(dir, name);
	}
	errno = -rc;
	return rc < 0 ? err_errno(err, "look at '%s'", file->path.ptr) : 0;
}

static int see_hash(struct putback *putback, const struct bundle_file *file,
	struct putback_seen *seen, struct err *err)
{
	const char *name;
	int dir = putback_plan_parent(putback, file->path, &name, err);

	if (seen->hashed || dir < 0)
		return dir < 0 ? dir : 0;
	owned_fd int fd = at_name_read(dir, name);
	int rc = fd < 0 ? fd : digest_fd(fd, &seen->hash);
	errno = -rc;
	if (rc < 0)
		return err_errno(err, "read '%s' to compare it", file->path.ptr);
	seen->hashed = true;
	return 0;
}

/* Times as exactly as the bundle has them. */
static bool same_time(const struct bundle_state *state, int64_t mtime)
{
	if (state->has & BUNDLE_HAS_MTIME_NS)
		return state->mtime == mtime;
	return state->has & BUNDLE_HAS_MTIME && mtime >= state->mtime &&
	       mtime - state->mtime < WHEN_SECOND;
}

/* The command set its times, and did nothing else to it: it is the same file with either time. */
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
	return same_time(&file->state[side], mtime) ||
	       (is_only_retimed(file) && same_time(&file->state[other], mtime));
}

static int matches_blocks(struct putback *putback, const struct bundle_file *file,
	const struct hash *want, struct err *err)
{
	struct hash hash;
	const char *name;
	int dir = putback_plan_parent(putback, file->path, &name, err);

	if (dir < 0)
		return dir;
	owned_fd int fd = at_name_read(dir, name);
	errno = fd < 0 ? -fd : -digest_blocks(fd, &hash);
	if (errno)
		return err_errno(err, "read '%s' to compare it", file->path.ptr);
	return hash_eq(want, &hash);
}

static int matches_content(struct putback *putback, const struct bundle_file *file,
	enum bundle_side side, struct putback_seen *seen, struct err *err)
{
	const struct bundle_state *state = &file->state[side];
	struct hash want;
	int rc;

	if (state->has & BUNDLE_HAS_SIZE && state->size != seen->size)
		return 0;
	if ((state->has & (BUNDLE_HAS_HASH | BUNDLE_HAS_BLOCKS)) == BUNDLE_HAS_BLOCKS)
		return matches_blocks(putback, file, &state->blocks, err);
	rc = bundle_content_hash(putback->bundle, file, side, &want, err);
	if (rc <= 0) /* no content to compare with: the time must do */
		return rc < 0 ? rc : matches_time(file, side, seen->mtime);
	rc = see_hash(putback, file, seen, err);
	return rc < 0 ? rc : hash_eq(&want, &seen->hash);
}

int putback_plan_matches(struct putback *putback, const struct bundle_file *file,
	enum bundle_side side, struct putback_seen *seen, struct err *err)
{
	const struct bundle_state *state = &file->state[side];

	if (!state->exists)
		return seen->type == BUNDLE_NONE;
	if (state->type != seen->type)
		return 0;
	switch (seen->type) {
	case BUNDLE_FILE:
		return matches_content(putback, file, side, seen, err);
	case BUNDLE_LINK:
		return !(state->has & BUNDLE_HAS_TARGET) || str_eq(state->target, seen->target);
	case BUNDLE_CHAR:
	case BUNDLE_BLOCK:
		return !(state->has & BUNDLE_HAS_RDEV) || state->rdev == seen->rdev;
	default:
		return 1;
	}
}

/* ----------------------------------------------------------------- planning */

static bool has_mode(const struct bundle_state *state, const struct putback_seen *seen)
{
	return state->exists && state->type == seen->type &&
	       (!(state->has & BUNDLE_HAS_MODE) || state->mode == seen->mode);
}

/* Or one that a restore gives on the way there, and was killed. */
static bool may_have_mode(const struct bundle_state *state, const struct putback_seen *seen)
{
	uint32_t between = seen->type == BUNDLE_DIR ? state->mode | 0700 : state->mode & ~06000u;

	return has_mode(state, seen) ||
	       (state->exists && state->type == seen->type && between == seen->mode);
}

/* Permissions that neither side had were given since. */
static bool is_foreign_mode(const struct bundle_file *file, const struct putback_seen *seen)
{
	return seen->type != BUNDLE_NONE && seen->type != BUNDLE_LINK && !seen->marked &&
	       !may_have_mode(&file->state[BUNDLE_BEFORE], seen) &&
	       !may_have_mode(&file->state[BUNDLE_AFTER], seen);
}

static bool same_attributes(
	const struct bundle_file *file, enum bundle_side side, const struct putback_seen *seen)
{
	const struct bundle_state *state = &file->state[side];
	bool xattrs = (file->state[0].has | file->state[1].has) & BUNDLE_HAS_XATTRS;

	return has_mode(state, seen) && !xattrs && !seen->marked &&
	       (!(state->has & BUNDLE_HAS_UID) || state->uid == seen->uid) &&
	       (!(state->has & BUNDLE_HAS_GID) || state->gid == seen->gid) &&
	       (seen->type == BUNDLE_DIR || !(state->has & BUNDLE_HAS_MTIME) ||
		       same_time(state, seen->mtime));
}

static void skip(struct putback_step *step, enum putback_action action, const char *reason)
{
	step->action = action;
	step->reason = reason;
}

/* A file of which the command saw no more than size, mode and time has those without a content. */
static void choose_hollow(const struct putback *putback, struct putback_step *step)
{
	const unsigned looking = BUNDLE_EXISTENCE | BUNDLE_METADATA;
	const struct bundle_state *want = &step->file->state[putback->options.side];

	if (!putback->options.fresh || step->file->operations & ~looking ||
		!(want->has & BUNDLE_HAS_SIZE))
		return;
	bool fits = step->seen.type == BUNDLE_FILE && step->seen.size == want->size;
	step->action = fits ? PUTBACK_ATTRIBUTES : PUTBACK_WRITE;
	step->hollow = !fits;
	step->reason = NULL;
}

/* What makes the wanted state of something else. */
static void choose_making(struct putback *putback, struct putback_step *step)
{
	enum bundle_side side = putback->options.side;
	const struct bundle_state *want = &step->file->state[side];
	struct err why = { 0 };

	step->action = PUTBACK_MAKE_NODE;
	switch (want->exists ? want->type : BUNDLE_NONE) {
	case BUNDLE_NONE:
		if (want->exists)
			skip(step, PUTBACK_SKIP, "its type is not known");
		else
			step->action = PUTBACK_DELETE;
		break;
	case BUNDLE_FILE:
		step->action = PUTBACK_WRITE;
		if (bundle_content_exists(putback->bundle, step->file, side, &why) >= 0)
			break;
		skip(step, PUTBACK_MISSING, arena_strdup(&putback->priv->arena, why.text));
		choose_hollow(putback, step);
		break;
	case BUNDLE_DIR:
		step->action = PUTBACK_MAKE_DIR;
		break;
	case BUNDLE_LINK:
		step->action = PUTBACK_MAKE_LINK;
		if (!(want->has & BUNDLE_HAS_TARGET))
			skip(step, PUTBACK_MISSING, "where the link led was not recorded");
		break;
	case BUNDLE_SOCKET:
		skip(step, PUTBACK_SKIP, "sockets are made by who listens");
		break;
	case BUNDLE_CHAR:
	case BUNDLE_BLOCK:
		if (!(want->has & BUNDLE_HAS_RDEV))
			skip(step, PUTBACK_SKIP, "which device it was is not recorded");
		break;
	case BUNDLE_FIFO:
		break;
	}
}

/*
 * Whether this and another name that one of its states has are one file where they shall be two, or
 * two where they shall be one.
 */
static bool is_tied_wrongly(struct putback *putback, const struct putback_step *step)
{
	enum bundle_side side = putback->options.side;
	struct err ignored = { 0 };

	for (int k = 0; k < BUNDLE_SIDES; k++) {
		const struct bundle_state *state = &step->file->state[k];

		for (size_t i = 0; i < state->n_links; i++) {
			struct str path = state->links[i];
			const struct bundle_file *other = bundle_find(putback->bundle, path);
			struct putback_seen seen;

			if (!other || other == step->file || !other->state[side].exists ||
				putback_plan_see(putback, other, &seen, &ignored) < 0 ||
				seen.type == BUNDLE_NONE)
				continue;
			bool one = seen.ino == step->seen.ino && seen.dev == step->seen.dev;
			bool shall = bundle_is_linked(&step->file->state[side], path) &&
				     bundle_is_linked(&other->state[side], step->file->path);
			if (one != shall)
				return true;
		}
	}
	return false;
}

static int choose(struct putback *putback, struct putback_step *step, struct err *err)
{
	enum bundle_side side = putback->options.side;
	/* One of another type has to go before it can be made; a restore may be killed between. */
	bool replaced = step->file->state[0].exists && step->file->state[1].exists &&
			step->file->state[0].type != step->file->state[1].type;
	bool absent_ok = (putback->options.elsewhere || replaced) && step->seen.type == BUNDLE_NONE;
	int wanted = putback_plan_matches(putback, step->file, side, &step->seen, err);
	int opposite = wanted ? wanted
			      : putback_plan_matches(putback, step->file, !side, &step->seen, err);

	if (opposite < 0)
		return opposite;
	bool foreign = is_foreign_mode(step->file, &step->seen);
	if ((opposite && !foreign) || absent_ok || putback->options.force) {
		if (!wanted ||
			(step->seen.type != BUNDLE_NONE && !putback->options.fresh &&
				step->seen.type != BUNDLE_DIR && is_tied_wrongly(putback, step)))
			choose_making(putback, step);
		else if (step->seen.type != BUNDLE_NONE &&
			 !same_attributes(step->file, side, &step->seen))
			step->action = PUTBACK_ATTRIBUTES;
		return 0;
	}
	skip(step, PUTBACK_CONFLICT,
		step->seen.type == BUNDLE_NONE ? "it was removed since"
		: foreign && opposite          ? "its mode was changed since"
					       : "it was changed since");
	return 0;
}

int putback_plan_fail(
	struct putback *putback, struct putback_step *step, const struct err *why, struct err *err)
{
	if (why->code != ERR_SYSTEM || at_scarce(why->errno_value)) {
		*err = *why;
		return -(int)err->code;
	}
	skip(step, PUTBACK_SKIP, arena_strdup(&putback->priv->arena, why->text));
	step->failed = true;
	return 0;
}

/* --- directories to be removed --- */

struct listing {
	struct putback *putback;
	const struct bundle_file *dir;
	bool kept, with_git;
};

/* Whether something in a tree is newer than the end of the command. */
static int find_newer(void *arg, int dirfd, const char *name, struct err *err)
{
	const struct putback *putback = arg;
	struct statx stx;
	int rc = at_name_stat(dirfd, name, &stx);

	if (rc < 0 || when_of(stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec) > putback->bundle->ended)
		return err_set(err, ERR_BUSY, "it was changed since");
	return S_ISDIR(stx.stx_mode) ? at_each_name(dirfd, name, find_newer, arg, err) : 0;
}

/*
 * No bundle tells of what is in .git.  In a directory that the command made it goes
 * with the directory, unless somebody has worked there since.
 */
static bool goes_along(const struct listing *listing, int dirfd, const char *name)
{
	const struct bundle *bundle = listing->putback->bundle;
	struct err newer = { 0 };

	/* It may be a copy of one that was there before and is not any more, or have come here. */
	if (bundle->n_lost || (!bundle->has_moved && listing->dir->operations & BUNDLE_RENAME))
		return false;
	return !strcmp(name, ".git") && !listing->dir->state[BUNDLE_BEFORE].exists &&
	       (listing->putback->options.force ||
		       find_newer(listing->putback, dirfd, name, &newer) == 0);
}

static int on_name(void *arg, int dirfd, const char *name, struct err *err)
{
	struct listing *listing = arg;

	owned_mem char *path = mem_printf("%s/%s", listing->dir->path.ptr, name);
	if (putback_move_leaves(listing->putback, str_of(path)) || putback_dir_is_left(name))
		return 0;
	if (goes_along(listing, dirfd, name)) {
		listing->with_git = true;
		return 0;
	}
	const struct putback_step *step = putback_plan_find(listing->putback, str_of(path));

	if (!step || step->action != PUTBACK_DELETE)
		listing->kept = true;
	return 0;
}

/* Whether something in it would remain: 1, 0, negative. */
static int would_keep(struct putback *putback, struct putback_step *step, struct err *err)
{
	struct listing listing = { .putback = putback, .dir = step->file };
	int rc = at_each_name(
		putback->options.root, step->file->path.ptr + 1, on_name, &listing, err);

	step->with_git = listing.with_git;
	return rc < 0 ? rc : listing.kept;
}

static bool makes(enum putback_action action)
{
	return action == PUTBACK_WRITE || action == PUTBACK_MAKE_LINK ||
	       action == PUTBACK_MAKE_NODE;
}

/* Children come behind their directory, so backwards they are settled first. */
static int settle_directories(struct putback *putback, struct err *err)
{
	for (size_t i = putback->n_steps; i-- > 0;) {
		struct putback_step *step = &putback->steps[i];
		bool removed = step->action == PUTBACK_DELETE || makes(step->action);

		if (step->seen.type != BUNDLE_DIR || !removed)
			continue;
		struct err why = { 0 };
		int keeps = would_keep(putback, step, &why);
		if (keeps < 0) {
			keeps = putback_plan_fail(putback, step, &why, err);
			if (keeps < 0)
				return keeps;
			continue;
		}
		if (keeps)
			skip(step,
				step->action == PUTBACK_DELETE || putback->options.force
					? PUTBACK_SKIP
					: PUTBACK_CONFLICT,
				"it holds files that the bundle does not know");
	}
	return 0;
}

/* --- the whole --- */

struct putback_step *putback_plan_find(const struct putback *putback, struct str path)
{
	size_t low = 0, high = putback->n_steps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(path, putback->steps[middle].file->path);

		if (!order)
			return &putback->steps[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* What the command only looked at, or tried to, and we may not see: nor will it. */
static bool is_closed(
	const struct putback *putback, const struct bundle_file *file, const struct err *why)
{
	return putback->options.fresh && !bundle_is_changed(file) && why->code == ERR_SYSTEM &&
	       (why->errno_value == EACCES || why->errno_value == EPERM);
}

static int add_step(struct putback *putback, struct putback_step *step, struct err *err)
{
	if (step->file->by_other && !putback->options.fresh) {
		skip(step, PUTBACK_SKIP, "somebody else changed it, not the command");
		return 0;
	}
	int rc = putback_plan_see(putback, step->file, &step->seen, err);

	if (rc >= 0 && step->file->inherited)
		skip(step, PUTBACK_SKIP, "it was open before the command was started");
	else if (rc >= 0)
		rc = choose(putback, step, err);
	return rc;
}

static int add_steps(struct putback *putback, struct err *err)
{
	const struct bundle *bundle = putback->bundle;
	size_t cap = 0;

	for (size_t i = 0; i < bundle->n_files; i++) {
		const struct bundle_file *file = &bundle->files[i];
		struct putback_step step = { .file = file };
		struct err why = { 0 };

		/* The root itself is whoever's it is. */
		if (!(putback->options.fresh || bundle_is_changed(file)) || file->path.len == 1)
			continue;
		int rc = add_step(putback, &step, &why);
		if (rc < 0 && is_closed(putback, file, &why))
			skip(&step, PUTBACK_SKIP, "it may not be looked at");
		else if (rc < 0 && (rc = putback_plan_fail(putback, &step, &why, err)) < 0)
			return rc;
		mem_grow(&putback->steps, &cap, putback->n_steps);
		putback->steps[putback->n_steps++] = step;
	}
	return 0;
}

struct putback *putback_plan(
	struct bundle *bundle, const struct putback_options *options, struct err *err)
{
	owned(putback_freep) struct putback *putback = mem_zalloc(sizeof(*putback));

	putback->bundle = bundle;
	putback->options = *options;
	putback->priv = mem_zalloc(sizeof(*putback->priv));
	putback->priv->dirfd = -1;
	putback->priv->dir.max = BUF_MAX;
	putback->priv->planning = true;
	if (add_steps(putback, err) < 0 || putback_move_plan(putback, err) < 0 ||
		(!options->fresh && settle_directories(putback, err) < 0))
		return NULL;
	for (size_t i = 0; i < putback->n_steps; i++) {
		putback->conflicts += putback->steps[i].action == PUTBACK_CONFLICT;
		putback->missing += putback->steps[i].action == PUTBACK_MISSING;
	}
	putback_plan_forget(putback);
	putback->priv->planning = false;
	return take_ptr(&putback);
}
