/* Makes the plan: decides what to do with each path that the command changed. */
#include <errno.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/bundle/bundle_content.h"
#include "trace/undo/restore_priv.h"

static bool has_mode(const struct bundle_state *state, const struct restore_seen *seen)
{
	return state->exists && state->type == seen->type &&
	       (!(state->has & BUNDLE_HAS_MODE) || state->mode == seen->mode);
}

/*
 * Whether the path has the mode of a state, or the temporary mode that a restore sets before that
 * mode.  A killed restore may have left the temporary mode.
 */
static bool may_have_mode(const struct bundle_state *state, const struct restore_seen *seen)
{
	uint32_t between = seen->type == BUNDLE_DIR ? state->mode | 0700 : state->mode & ~06000u;

	return has_mode(state, seen) ||
	       (state->exists && state->type == seen->type && between == seen->mode);
}

/*
 * Whether neither state of the bundle has the present mode.  In this case the mode was changed
 * after the command.
 */
static bool is_foreign_mode(const struct bundle_file *file, const struct restore_seen *seen)
{
	return seen->type != BUNDLE_NONE && seen->type != BUNDLE_LINK && !seen->marked &&
	       !may_have_mode(&file->state[BUNDLE_BEFORE], seen) &&
	       !may_have_mode(&file->state[BUNDLE_AFTER], seen);
}

static bool same_attributes(
	const struct bundle_file *file, enum bundle_side side, const struct restore_seen *seen)
{
	const struct bundle_state *state = &file->state[side];
	bool xattrs = (file->state[0].has | file->state[1].has) & BUNDLE_HAS_XATTRS;

	return has_mode(state, seen) && !xattrs && !seen->marked &&
	       (!(state->has & BUNDLE_HAS_UID) || state->uid == seen->uid) &&
	       (!(state->has & BUNDLE_HAS_GID) || state->gid == seen->gid) &&
	       (seen->type == BUNDLE_DIR || !(state->has & BUNDLE_HAS_MTIME) ||
		       restore_see_same_time(state, seen->mtime));
}

static void set_action(struct restore_step *step, enum restore_action action, const char *reason)
{
	step->action = action;
	step->reason = reason;
}

/*
 * If the command used only the size, the mode and the time of a file, let the restored file have
 * zeros as its content.
 */
static void choose_hollow(const struct restore *restore, struct restore_step *step)
{
	const unsigned looking = BUNDLE_EXISTENCE | BUNDLE_METADATA;
	const struct bundle_state *want = &step->file->state[restore->options.side];

	if (!restore->options.fresh || step->file->operations & ~looking ||
		!(want->has & BUNDLE_HAS_SIZE))
		return;
	bool fits = step->seen.type == BUNDLE_FILE && step->seen.size == want->size;
	step->action = fits ? RESTORE_ATTRIBUTES : RESTORE_WRITE;
	step->hollow = !fits;
	step->reason = NULL;
}

/* Choose how to bring the path into the wanted state. */
static void choose_making(struct restore *restore, struct restore_step *step)
{
	enum bundle_side side = restore->options.side;
	const struct bundle_state *want = &step->file->state[side];
	struct err why = { 0 };

	step->action = RESTORE_MAKE_NODE;
	switch (want->exists ? want->type : BUNDLE_NONE) {
	case BUNDLE_NONE:
		if (want->exists)
			set_action(step, RESTORE_SKIP, "its type is not known");
		else
			step->action = RESTORE_DELETE;
		break;
	case BUNDLE_FILE:
		step->action = RESTORE_WRITE;
		if (bundle_content_exists(restore->bundle, step->file, side, &why) >= 0)
			break;
		/*
		 * If another process has also changed the path, skip the path.  Its missing content
		 * must not prevent the restore of all other paths.
		 */
		step->failed = step->file->contested && !restore->options.fresh;
		set_action(step, step->failed ? RESTORE_SKIP : RESTORE_MISSING,
			arena_strdup(&restore->priv->arena, why.text));
		choose_hollow(restore, step);
		break;
	case BUNDLE_DIR:
		step->action = RESTORE_MAKE_DIR;
		break;
	case BUNDLE_LINK:
		step->action = RESTORE_MAKE_LINK;
		if (!(want->has & BUNDLE_HAS_TARGET))
			set_action(step, RESTORE_MISSING, "where the link led was not recorded");
		break;
	case BUNDLE_SOCKET:
		set_action(
			step, RESTORE_SKIP, "a socket is made by the program that listens on it");
		break;
	case BUNDLE_CHAR:
	case BUNDLE_BLOCK:
		if (!(want->has & BUNDLE_HAS_RDEV))
			set_action(step, RESTORE_SKIP, "which device it was is not recorded");
		break;
	case BUNDLE_FIFO:
		break;
	}
}

/*
 * Whether the link between this path and another recorded name of its file is wrong.  The link is
 * wrong if the two paths are one file now and should be two files, or are two files now and should
 * be one.
 */
static bool is_linked_wrongly(struct restore *restore, const struct restore_step *step)
{
	enum bundle_side side = restore->options.side;
	struct err ignored = { 0 };

	for (int k = 0; k < BUNDLE_SIDES; k++) {
		const struct bundle_state *state = &step->file->state[k];

		for (size_t i = 0; i < state->n_links; i++) {
			struct str path = state->links[i];
			const struct bundle_file *other = bundle_find(restore->bundle, path);
			struct restore_seen seen;

			if (!other || other == step->file || !other->state[side].exists ||
				restore_see(restore, other, &seen, &ignored) < 0 ||
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

static int choose_action(struct restore *restore, struct restore_step *step, struct err *err)
{
	enum bundle_side side = restore->options.side;
	/*
	 * A path whose type changes is removed before it is made again.  If a restore was killed in
	 * between, the path does not exist.
	 */
	bool replaced = step->file->state[0].exists && step->file->state[1].exists &&
			step->file->state[0].type != step->file->state[1].type;
	bool absent_ok = (restore->options.elsewhere || replaced) && step->seen.type == BUNDLE_NONE;
	int wanted = restore_see_matches(restore, step->file, side, &step->seen, err);
	int opposite =
		wanted ? wanted : restore_see_matches(restore, step->file, !side, &step->seen, err);

	if (opposite < 0)
		return opposite;
	bool foreign = is_foreign_mode(step->file, &step->seen);
	if ((opposite && !foreign) || absent_ok || restore->options.force) {
		if (!wanted ||
			(step->seen.type != BUNDLE_NONE && !restore->options.fresh &&
				step->seen.type != BUNDLE_DIR && is_linked_wrongly(restore, step)))
			choose_making(restore, step);
		else if (step->seen.type != BUNDLE_NONE &&
			 !same_attributes(step->file, side, &step->seen))
			step->action = RESTORE_ATTRIBUTES;
		return 0;
	}
	set_action(step, RESTORE_CONFLICT,
		step->seen.type == BUNDLE_NONE ? "it was removed since"
		: foreign && opposite          ? "its mode was changed since"
					       : "it was changed since");
	return 0;
}

int restore_plan_fail(
	struct restore *restore, struct restore_step *step, const struct err *why, struct err *err)
{
	if (why->code != ERR_SYSTEM || at_scarce(why->errno_value)) {
		*err = *why;
		return -(int)err->code;
	}
	set_action(step, RESTORE_SKIP, arena_strdup(&restore->priv->arena, why->text));
	step->failed = true;
	return 0;
}

/* --- directories to be removed --- */

struct listing {
	struct restore *restore;
	const struct bundle_file *dir;
	bool kept, with_git;
};

/* Fail if a file below a directory was changed after the command had ended. */
static int find_newer(void *arg, int dirfd, const char *name, struct err *err)
{
	const struct restore *restore = arg;
	struct statx stx;
	int rc = at_name_stat(dirfd, name, &stx);

	if (rc < 0 || when_of(stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec) > restore->bundle->ended)
		return err_set(err, ERR_BUSY, "it was changed since");
	return S_ISDIR(stx.stx_mode) ? at_each_name(dirfd, name, find_newer, arg, err) : 0;
}

/*
 * Whether a .git is removed together with its directory.  A removed .git cannot be made again,
 * since no bundle has the files in a .git.  So it is removed only if the command made the
 * directory.  In a restore that is not forced, a .git that was changed after the command is kept.
 */
static bool is_removed_along(const struct listing *listing, int dirfd, const char *name)
{
	const struct bundle *bundle = listing->restore->bundle;
	struct err newer = { 0 };

	/*
	 * Keep a .git that may have been moved here, or that may be the only copy of a lost .git.
	 */
	if (bundle->n_lost || (!bundle->has_moved && listing->dir->operations & BUNDLE_RENAME))
		return false;
	return !strcmp(name, ".git") && !listing->dir->state[BUNDLE_BEFORE].exists &&
	       (listing->restore->options.force ||
		       find_newer(listing->restore, dirfd, name, &newer) == 0);
}

static int check_name(void *arg, int dirfd, const char *name, struct err *err)
{
	struct listing *listing = arg;

	owned_mem char *path = mem_printf("%s/%s", listing->dir->path.ptr, name);
	if (restore_move_leaves(listing->restore, str_of(path)) || restore_dir_is_leftover(name))
		return 0;
	if (is_removed_along(listing, dirfd, name)) {
		listing->with_git = true;
		return 0;
	}
	const struct restore_step *step = restore_plan_find(listing->restore, str_of(path));

	if (!step || step->action != RESTORE_DELETE)
		listing->kept = true;
	return 0;
}

/* Returns 1 if any file in the directory is kept, 0 if no file is kept, or a negative error. */
static int would_keep(struct restore *restore, struct restore_step *step, struct err *err)
{
	struct listing listing = { .restore = restore, .dir = step->file };
	int rc = at_each_name(
		restore->options.root, step->file->path.ptr + 1, check_name, &listing, err);

	step->with_git = listing.with_git;
	return rc < 0 ? rc : listing.kept;
}

bool restore_plan_makes(const struct restore_step *step)
{
	return step->action == RESTORE_WRITE || step->action == RESTORE_MAKE_LINK ||
	       step->action == RESTORE_MAKE_NODE;
}

/*
 * Check the directories that are to be removed.  The loop goes backwards: the steps of the paths
 * inside a directory come after the step of the directory, and have to be decided first.
 */
static int check_removed_dirs(struct restore *restore, struct err *err)
{
	for (size_t i = restore->n_steps; i-- > 0;) {
		struct restore_step *step = &restore->steps[i];
		bool removed = step->action == RESTORE_DELETE || restore_plan_makes(step);

		if (step->seen.type != BUNDLE_DIR || !removed)
			continue;
		struct err why = { 0 };
		int keeps = would_keep(restore, step, &why);
		if (keeps < 0) {
			keeps = restore_plan_fail(restore, step, &why, err);
			if (keeps < 0)
				return keeps;
			continue;
		}
		if (keeps)
			set_action(step,
				step->action == RESTORE_DELETE || restore->options.force
					? RESTORE_SKIP
					: RESTORE_CONFLICT,
				"it holds files that the bundle does not know");
	}
	return 0;
}

/* --- the whole plan --- */

static int compare_path(const void *path, const void *step)
{
	return str_cmp(*(const struct str *)path, ((const struct restore_step *)step)->file->path);
}

struct restore_step *restore_plan_find(const struct restore *restore, struct str path)
{
	if (!restore->n_steps)
		return NULL;
	return bsearch(
		&path, restore->steps, restore->n_steps, sizeof(*restore->steps), compare_path);
}

/*
 * In a restore for another run of the command: whether the command only asked about the path, and
 * this process may not examine the path now.  The repeated command will be denied, too.
 */
static bool is_unreadable(
	const struct restore *restore, const struct bundle_file *file, const struct err *why)
{
	return restore->options.fresh && !bundle_is_changed(file) && why->code == ERR_SYSTEM &&
	       (why->errno_value == EACCES || why->errno_value == EPERM);
}

/*
 * Choose what to do with a path that both the command and another process changed.  A file that is
 * at the path now is kept, because it may contain work of the other process.
 */
static int choose_contested(struct restore *restore, struct restore_step *step, struct err *err)
{
	bool by_other = step->file->by_other;
	int wanted =
		restore_see_matches(restore, step->file, restore->options.side, &step->seen, err);

	if (wanted)
		return wanted < 0 ? wanted : choose_action(restore, step, err);
	if (step->seen.type == BUNDLE_NONE) {
		choose_making(restore, step);
		step->outdated = !by_other && !step->reason;
	} else {
		step->action = RESTORE_SKIP;
		step->failed = true;
	}
	if (step->failed || step->outdated)
		step->reason = by_other ? "another process changed it after the command did"
					: "another process changed it before the command did, and "
					  "that is not recorded";
	return 0;
}

static int add_step(struct restore *restore, struct restore_step *step, struct err *err)
{
	const struct bundle_file *file = step->file;
	const struct restore_options *options = &restore->options;

	if (file->by_other && !file->contested && !options->fresh) {
		set_action(step, RESTORE_SKIP, "another process changed it, not the command");
		return 0;
	}
	int rc = restore_see(restore, file, &step->seen, err);

	if (rc >= 0 && file->inherited)
		set_action(step, RESTORE_SKIP, "it was open before the command was started");
	else if (rc >= 0 && file->contested && options->side == BUNDLE_BEFORE && !options->force)
		rc = choose_contested(restore, step, err);
	else if (rc >= 0)
		rc = choose_action(restore, step, err);
	return rc;
}

static int add_steps(struct restore *restore, struct err *err)
{
	const struct bundle *bundle = restore->bundle;
	size_t cap = 0;

	for (size_t i = 0; i < bundle->n_files; i++) {
		const struct bundle_file *file = &bundle->files[i];
		struct restore_step step = { .file = file };
		struct err why = { 0 };

		/*
		 * Skip paths that were not changed.  Also skip the root directory, which is never
		 * changed.
		 */
		if (!(restore->options.fresh || bundle_is_changed(file)) || file->path.len == 1)
			continue;
		int rc = add_step(restore, &step, &why);
		if (rc < 0 && is_unreadable(restore, file, &why))
			set_action(&step, RESTORE_SKIP, "permission to examine it is denied");
		else if (rc < 0 && (rc = restore_plan_fail(restore, &step, &why, err)) < 0)
			return rc;
		mem_grow(&restore->steps, &cap, restore->n_steps);
		restore->steps[restore->n_steps++] = step;
	}
	return 0;
}

struct restore *restore_plan(
	struct bundle *bundle, const struct restore_options *options, struct err *err)
{
	owned(restore_plan_freep) struct restore *restore = mem_zalloc(sizeof(*restore));

	restore->bundle = bundle;
	restore->options = *options;
	restore->priv = mem_zalloc(sizeof(*restore->priv));
	restore->priv->dirfd = -1;
	restore->priv->dir.max = BUF_MAX;
	restore->priv->planning = true;
	if (add_steps(restore, err) < 0 || restore_move_plan(restore, err) < 0 ||
		(!options->fresh && check_removed_dirs(restore, err) < 0))
		return NULL;
	for (size_t i = 0; i < restore->n_steps; i++) {
		restore->conflicts += restore->steps[i].action == RESTORE_CONFLICT;
		restore->missing += restore->steps[i].action == RESTORE_MISSING;
	}
	restore_see_forget(restore);
	restore->priv->planning = false;
	return take_ptr(&restore);
}

static const char *const action_names[] = {
	[RESTORE_NOTHING] = "nothing",
	[RESTORE_ATTRIBUTES] = "attributes",
	[RESTORE_WRITE] = "write",
	[RESTORE_MAKE_DIR] = "mkdir",
	[RESTORE_MAKE_LINK] = "symlink",
	[RESTORE_MAKE_NODE] = "node",
	[RESTORE_DELETE] = "delete",
	[RESTORE_MOVE] = "move",
	[RESTORE_SKIP] = "skip",
	[RESTORE_CONFLICT] = "conflict",
	[RESTORE_MISSING] = "missing",
};

const char *restore_plan_action_name(enum restore_action action)
{
	return action_names[action];
}

void restore_plan_freep(struct restore **freed)
{
	struct restore *restore = *freed;

	if (!restore)
		return;
	struct restore_priv *priv = restore->priv;
	for (size_t i = 0; i < priv->n_touched; i++)
		free(priv->touched[i].dir);
	free(priv->touched);
	free(priv->made);
	free(priv->sync.systems);
	free(priv->slots);
	buf_release(&priv->dir);
	close_fd(&priv->dirfd);
	arena_release(&priv->arena);
	free(priv);
	free(restore->moves);
	free(restore->steps);
	free(restore);
}
