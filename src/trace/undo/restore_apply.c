/*
 * Carries out a plan in this order:
 *
 * 1. Remove paths that have to be removed, the deepest first.  Directories out of which a thing
 *    (restore.h) will be renamed are kept for now.
 * 2. Make directories, the upper ones first.
 * 3. Rename things without a record.  Then remove the directories out of which these things were
 *    renamed.
 * 4. Make files, links and special files.  Then make the further names of files with several names.
 * 5. Set modes and times.  Directories come last, the deepest first, since every change inside a
 *    directory changes its time.
 *
 * A signal such as SIGTERM is noticed between two steps.  Files that still have temporary names are
 * then removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/bundle/bundle_content.h"
#include "trace/undo/restore_priv.h"

/* ---------------------------------------------------------------- reporting */

/* Whether an error would also occur with every other path. */
static bool is_fatal(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS ||
	       at_scarce(error);
}

/*
 * Skip the path of a step after the error 'why'.  Returns a negative error if 'why' would also
 * occur with every other path.
 */
static int fail_step(
	struct restore *restore, struct restore_step *step, const struct err *why, struct err *err)
{
	if (why->code == ERR_SYSTEM && is_fatal(why->errno_value)) {
		*err = *why;
		return err_context(err, "'%s'", step->file->path.ptr);
	}
	step->action = RESTORE_SKIP;
	step->failed = true;
	step->reason = arena_strdup(&restore->priv->arena, why->text);
	return 0;
}

static int check_signals(const struct restore *restore, struct err *err)
{
	sigset_t asked;

	if (sigpending(&asked) < 0 || sigandset(&asked, &asked, &restore->priv->ends) < 0 ||
		sigisemptyset(&asked))
		return 0;
	return err_set(err, ERR_BUSY, "interrupted; the same command completes it");
}

static void report_progress(struct restore *restore)
{
	if (restore->options.progress)
		restore->options.progress(
			restore->options.arg, ++restore->priv->done, restore->n_steps);
}

/* ------------------------------------------------------------------ removal */

/* Remove the .git in a directory that is about to be removed, if the plan allows this. */
static int remove_git(const struct restore_step *step, int dir, const char *name, struct err *err)
{
	owned_fd int inner = step->with_git ? at_name_open(dir, name, O_RDONLY | O_DIRECTORY) : -1;

	return inner < 0 ? 0 : at_remove_tree(inner, ".git", err);
}

static int remove_old(struct restore *restore, struct restore_step *step, struct err *err)
{
	bool is_dir = step->seen.type == BUNDLE_DIR;
	const char *name;
	int dir = restore_dir_enter_old(restore, step->file->path, &name, err);

	if (dir < 0)
		return dir;
	if (!restore->options.force && restore_make_check(restore, step, dir, name, err) < 0)
		return -(int)err->code;
	if (is_dir && (restore->options.fresh ? at_remove_tree(dir, name, err)
					      : remove_git(step, dir, name, err)) < 0)
		return -(int)err->code;
	if (unlinkat(dir, name, is_dir ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
		return err_errno(err, "remove");
	if (is_dir)
		restore_see_forget(restore);
	step->seen.type = BUNDLE_NONE;
	return 0;
}

/*
 * Whether the present file or directory at a path must be removed.  This is so if nothing is wanted
 * at the path, or if either the present file or the wanted file, but not both, is a directory.
 */
static bool is_in_the_way(const struct restore_step *step)
{
	enum bundle_type now = step->seen.type;

	switch (step->action) {
	case RESTORE_DELETE:
		return now != BUNDLE_NONE;
	case RESTORE_MAKE_DIR:
		return now != BUNDLE_NONE && now != BUNDLE_DIR;
	case RESTORE_WRITE:
	case RESTORE_MAKE_LINK:
	case RESTORE_MAKE_NODE:
		return now == BUNDLE_DIR;
	default:
		return false;
	}
}

/*
 * Remove paths.  If 'emptied' is set, remove the directories out of which a thing was renamed.
 * Otherwise remove all other paths that have to be removed.
 */
static int remove_all(struct restore *restore, bool emptied, struct err *err)
{
	for (size_t i = restore->n_steps; i-- > 0;) {
		struct restore_step *step = &restore->steps[i];
		struct err why = { 0 };

		if (!is_in_the_way(step) ||
			emptied != restore_move_leaves_from(restore, step->file->path))
			continue;
		int rc = check_signals(restore, err);
		if (rc < 0)
			return rc;
		rc = remove_old(restore, step, &why);
		if (rc < 0 && (rc = fail_step(restore, step, &why, err)) < 0)
			return rc;
		if (step->action == RESTORE_DELETE) {
			restore->deleted++;
			report_progress(restore);
		}
	}
	return 0;
}

/* --------------------------------------------------------------------- making */

static int set_attributes(struct restore *restore, struct restore_step *step, struct err *err)
{
	bool is_dir = step->action == RESTORE_MAKE_DIR || step->seen.type == BUNDLE_DIR;
	const char *name;
	int dir = restore_see_parent(restore, step->file->path, &name, err);

	if (dir < 0)
		return dir;
	if (!is_dir && !restore->options.fresh &&
		restore_make_check(restore, step, dir, name, err) < 0)
		return -(int)err->code;
	return restore_attr_set(restore, step, dir, name, err);
}

/*
 * Whether this path will be made as a hard link to another name of its file.  The other name is
 * made first.
 */
static bool is_second_name(const struct restore *restore, const struct restore_step *step)
{
	const struct bundle_state *want = &step->file->state[restore->options.side];

	for (size_t i = 0; i < want->n_links; i++) {
		const struct restore_step *other =
			str_cmp(want->links[i], step->file->path) < 0
				? restore_plan_find(restore, want->links[i])
				: NULL;

		if (other && restore_plan_makes(other))
			return true;
	}
	return false;
}

/* Directories are made first, then files, then the further names of files. */
enum stage { STAGE_DIRS, STAGE_FILES, STAGE_NAMES };

/*
 * Carry out a step if it belongs to the stage.  Returns 1 if the step is done.  Returns 0 if the
 * step belongs to another stage, or if restore_make_finish has to finish it.
 */
static int act_in_stage(
	struct restore *restore, struct restore_step *step, enum stage stage, struct err *err)
{
	int rc;

	switch (step->action) {
	case RESTORE_MAKE_DIR:
		if (stage != STAGE_DIRS)
			return 0;
		rc = restore_make_dir(restore, step, err);
		step->made = rc >= 0;
		break;
	case RESTORE_WRITE:
	case RESTORE_MAKE_LINK:
	case RESTORE_MAKE_NODE:
		if (stage == STAGE_DIRS || (stage == STAGE_NAMES) != is_second_name(restore, step))
			return 0;
		rc = restore_make(restore, step, err);
		return rc < 0 ? rc : 0;
	case RESTORE_ATTRIBUTES:
		if (stage != STAGE_FILES || step->seen.type == BUNDLE_DIR)
			return 0;
		rc = set_attributes(restore, step, err);
		break;
	default:
		return 0;
	}
	return rc < 0 ? rc : 1;
}

/*
 * Record the result of renaming a file into place.  'why' is the error, or NULL if the rename
 * succeeded.
 */
static int note_made(
	struct restore *restore, struct restore_step *step, const struct err *why, struct err *err)
{
	if (why)
		return fail_step(restore, step, why, err);
	restore->restored++;
	report_progress(restore);
	return check_signals(restore, err);
}

static int compare_rows(const void *a, const void *b)
{
	const struct restore_step *x = *(struct restore_step *const *)a;
	const struct restore_step *y = *(struct restore_step *const *)b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x > y) - (x < y);
}

/*
 * Returns the steps in the order in which a stage carries them out.  Files are made in the order of
 * their contents in the table, so that the table is read only once.
 */
static struct restore_step **order_steps(struct restore *restore, enum stage stage)
{
	struct restore_step **order =
		mem_alloc((restore->n_steps + 1) * sizeof(struct restore_step *));

	for (size_t i = 0; i < restore->n_steps; i++) {
		struct restore_step *step = &restore->steps[i];

		step->row = step->action == RESTORE_WRITE && !step->hollow
				    ? bundle_content_place(
					      restore->bundle, step->file, restore->options.side)
				    : UINT64_MAX;
		order[i] = step;
	}
	if (stage == STAGE_FILES && restore->n_steps)
		qsort(order, restore->n_steps, sizeof(struct restore_step *), compare_rows);
	return order;
}

static int run_stage(struct restore *restore, enum stage stage, struct err *err)
{
	owned_mem struct restore_step **order = order_steps(restore, stage);

	for (size_t i = 0; i < restore->n_steps; i++) {
		struct restore_step *step = order[i];
		struct err why = { 0 };
		int rc = check_signals(restore, err);
		int done = rc < 0 ? 0 : act_in_stage(restore, step, stage, &why);

		if (done < 0)
			rc = fail_step(restore, step, &why, err);
		if (rc >= 0 && restore_make_is_much(restore))
			rc = restore_make_finish(restore, note_made, err);
		if (rc < 0) {
			restore_make_discard(restore);
			return rc;
		}
		if (done > 0) {
			restore->restored++;
			report_progress(restore);
		}
	}
	return restore_make_finish(restore, note_made, err);
}

/*
 * Rename the things (restore.h) whose places are free.  If 'exchange' is set, exchange one thing
 * with the thing that is in its place.  Returns the number of renamed things, or a negative error.
 */
static int move_some(struct restore *restore, bool exchange, struct err *err)
{
	int count = 0;

	for (size_t i = 0; i < restore->n_moves && !(exchange && count); i++) {
		struct restore_move *move = &restore->moves[i];
		struct err why = { 0 };

		if (move->step.action != RESTORE_MOVE || move->done)
			continue;
		int done = restore_move_apply(restore, move, exchange, &why);
		int rc = done < 0 ? fail_step(restore, &move->step, &why, err) : 0;
		if (rc < 0)
			return rc;
		count += done != 0;
	}
	return count;
}

/*
 * Rename all things without a record.  A thing that is in the place of another thing is renamed
 * before that other thing.  Two things that are in each other's place are exchanged.
 */
static int move_all(struct restore *restore, struct err *err)
{
	int count = 1;

	while (count > 0) {
		count = move_some(restore, false, err);
		if (!count)
			count = move_some(restore, true, err);
	}
	for (size_t i = 0; i < restore->n_moves; i++)
		restore->restored += restore->moves[i].done;
	return count;
}

/* ----------------------------------- directories, at the end of the restore */

/*
 * Set the attributes of directories that have a step.  If 'early' is set, the restore has ended
 * early, and only the directories that it has made are finished.
 */
static int finish_dirs(struct restore *restore, bool early, struct err *err)
{
	for (size_t i = restore->n_steps; i-- > 0;) {
		struct restore_step *step = &restore->steps[i];
		bool changed = step->action == RESTORE_ATTRIBUTES;
		struct err why = { 0 };

		if (step->action == RESTORE_MAKE_DIR
				? !step->made
				: early || !changed || step->seen.type != BUNDLE_DIR)
			continue;
		int rc = set_attributes(restore, step, &why);
		if (rc < 0 && (rc = fail_step(restore, step, &why, err)) < 0)
			return rc;
		if (changed && !step->failed)
			restore->restored++;
	}
	return 0;
}

/* -------------------------------------------------------- the whole restore */

static void count_results(struct restore *restore)
{
	for (size_t i = 0; i < restore->n_steps; i++) {
		const struct restore_step *step = &restore->steps[i];

		restore->unchanged += step->action == RESTORE_NOTHING;
		restore->skipped += step->action == RESTORE_SKIP;
		restore->failed += step->failed || step->outdated;
	}
	for (size_t i = 0; i < restore->n_moves; i++)
		restore->failed += restore->moves[i].step.failed;
}

static int run_stages(struct restore *restore, struct err *err)
{
	int rc;

	if ((rc = remove_all(restore, false, err)) >= 0 &&
		(rc = run_stage(restore, STAGE_DIRS, err)) >= 0 &&
		(rc = move_all(restore, err)) >= 0 && (rc = remove_all(restore, true, err)) >= 0 &&
		(rc = run_stage(restore, STAGE_FILES, err)) >= 0)
		rc = run_stage(restore, STAGE_NAMES, err);
	return rc;
}

int restore_apply(struct restore *restore, struct err *err)
{
	sigset_t before;
	int rc;

	if (restore->conflicts)
		return err_set(err, ERR_BUSY, "%zu %s changed since; nothing was touched",
			restore->conflicts, restore->conflicts == 1 ? "path was" : "paths were");
	if (restore->missing)
		return err_set(err, ERR_NOT_FOUND,
			"the bundle lacks what %zu %s; nothing was touched", restore->missing,
			restore->missing == 1 ? "path needs" : "paths need");
	child_end_signals(&restore->priv->ends);
	(void)sigprocmask(SIG_BLOCK, &restore->priv->ends, &before);
	if (!restore->options.fresh)
		restore_dir_take_over(restore);
	rc = run_stages(restore, err);
	/*
	 * Finish directories even after an error, to take back the permissions that were given
	 * temporarily.
	 */
	struct err ignored = { 0 };
	int last = finish_dirs(restore, rc < 0, rc < 0 ? &ignored : err);
	restore_dir_finish(restore, rc < 0);
	if (rc >= 0 && last >= 0)
		last = restore_sync_all(restore, err);
	restore_sync_clear(restore);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	count_results(restore);
	return rc < 0 ? rc : last < 0 ? last : 0;
}
