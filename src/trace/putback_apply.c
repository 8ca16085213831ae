/*
 * The order: what has to go, deepest first; directories, the upper ones first; files,
 * links and nodes; then modes and times, those of directories last and deepest first, since
 * every change inside moves a directory's time.
 *
 * Whoever wants to end it by a signal is heard between two steps: what is half done has our names,
 * and is removed first.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/bundle_content.h"
#include "trace/putback_priv.h"

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

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void hold_signals(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&set, ends[i]);
	(void)sigprocmask(SIG_BLOCK, &set, before);
}

static int check_signals(struct err *err)
{
	sigset_t set;

	if (sigpending(&set) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (sigismember(&set, ends[i]))
			return err_set(err, ERR_BUSY, "interrupted; the same command completes it");
	return 0;
}

static void advance(struct putback *putback)
{
	if (putback->options.progress)
		putback->options.progress(
			putback->options.arg, ++putback->priv->done, putback->n_steps);
}

/* ------------------------------------------------------------------ removal */

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
	int dir = putback_dir_enter_old(putback, step, &name, err);

	if (dir < 0)
		return dir;
	if (!putback->options.force && !putback_make_is_as_seen(putback, step, dir, name))
		return putback_make_meanwhile(err);
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
		int rc = check_signals(err);
		if (rc < 0)
			return rc;
		rc = remove_old(putback, step, &why);
		if (rc < 0 && (rc = give_up(putback, step, &why, err)) < 0)
			return rc;
		if (step->action == PUTBACK_DELETE) {
			putback->deleted++;
			advance(putback);
		}
	}
	return 0;
}

static int settle_file(struct putback *putback, struct putback_step *step, struct err *err)
{
	const char *name;
	int dir = putback_plan_parent(putback, step->file->path, &name, err);

	if (dir < 0)
		return dir;
	if (!putback->options.fresh && !putback_make_is_as_seen(putback, step, dir, name))
		return putback_make_meanwhile(err);
	return putback_attr_set(putback, step, dir, name, err);
}

/* --------------------------------------------------------------------- making */

static bool makes(const struct putback_step *step)
{
	return step->action == PUTBACK_WRITE || step->action == PUTBACK_MAKE_LINK ||
	       step->action == PUTBACK_MAKE_NODE;
}

/* Another name of the same file is made before this one, which is to be linked to it. */
static bool is_second_name(const struct putback *putback, const struct putback_step *step)
{
	const struct bundle_state *want = &step->file->state[putback->options.side];

	for (size_t i = 0; i < want->n_links; i++) {
		const struct putback_step *other =
			str_cmp(want->links[i], step->file->path) < 0
				? putback_plan_find(putback, want->links[i])
				: NULL;

		if (other && makes(other))
			return true;
	}
	return false;
}

/* Directories first, then what is in them, then further names of that. */
enum stage { STAGE_DIRS, STAGE_FILES, STAGE_NAMES };

enum done { DONE_NOTHING, DONE_NEARLY, DONE };

/* The part of a step that belongs to a stage: DONE_*, or negative. */
static int act(
	struct putback *putback, struct putback_step *step, enum stage stage, struct err *err)
{
	int rc;

	switch (step->action) {
	case PUTBACK_MAKE_DIR:
		if (stage != STAGE_DIRS)
			return DONE_NOTHING;
		rc = putback_make_dir(putback, step, err);
		step->made = rc >= 0;
		break;
	case PUTBACK_WRITE:
	case PUTBACK_MAKE_LINK:
	case PUTBACK_MAKE_NODE:
		if (stage == STAGE_DIRS || (stage == STAGE_NAMES) != is_second_name(putback, step))
			return DONE_NOTHING;
		rc = putback_make(putback, step, err);
		return rc < 0 ? rc : DONE_NEARLY;
	case PUTBACK_ATTRIBUTES:
		if (stage != STAGE_FILES || step->seen.type == BUNDLE_DIR)
			return DONE_NOTHING;
		rc = settle_file(putback, step, err);
		break;
	default:
		return DONE_NOTHING;
	}
	return rc < 0 ? rc : DONE;
}

/* A file has got its name; why: or not. */
static int made(
	struct putback *putback, struct putback_step *step, const struct err *why, struct err *err)
{
	if (why)
		return give_up(putback, step, why, err);
	putback->restored++;
	advance(putback);
	return check_signals(err);
}

static int by_row(const void *a, const void *b)
{
	const struct putback_step *x = *(struct putback_step *const *)a;
	const struct putback_step *y = *(struct putback_step *const *)b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x > y) - (x < y);
}

/* Contents in the order they were saved: a table is not read from one end to the other for each. */
static struct putback_step **in_order(struct putback *putback, enum stage stage)
{
	struct putback_step **order =
		mem_alloc((putback->n_steps + 1) * sizeof(struct putback_step *));

	for (size_t i = 0; i < putback->n_steps; i++) {
		struct putback_step *step = &putback->steps[i];

		step->row = step->action == PUTBACK_WRITE && !step->hollow
				    ? bundle_content_place(
					      putback->bundle, step->file, putback->options.side)
				    : UINT64_MAX;
		order[i] = step;
	}
	if (stage == STAGE_FILES && putback->n_steps)
		qsort(order, putback->n_steps, sizeof(struct putback_step *), by_row);
	return order;
}

static int run_stage(struct putback *putback, enum stage stage, struct err *err)
{
	owned_mem struct putback_step **order = in_order(putback, stage);

	for (size_t i = 0; i < putback->n_steps; i++) {
		struct putback_step *step = order[i];
		struct err why = { 0 };
		int rc = check_signals(err);
		int done = rc < 0 ? DONE_NOTHING : act(putback, step, stage, &why);

		if (done < 0)
			rc = give_up(putback, step, &why, err);
		if (rc >= 0 && putback_make_is_much(putback))
			rc = putback_make_finish(putback, made, err);
		if (rc < 0) {
			putback_make_discard(putback);
			return rc;
		}
		if (done == DONE) {
			putback->restored++;
			advance(putback);
		}
	}
	return putback_make_finish(putback, made, err);
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

	return dir < 0 ? dir : putback_attr_set(putback, step, dir, name, err);
}

/* early: only what has been made is to be as it shall be. */
static int settle_dirs(struct putback *putback, bool early, struct err *err)
{
	for (size_t i = putback->n_steps; i-- > 0;) {
		struct putback_step *step = &putback->steps[i];
		bool changed = step->action == PUTBACK_ATTRIBUTES;
		struct err why = { 0 };

		if (step->action == PUTBACK_MAKE_DIR
				? !step->made
				: early || !changed || step->seen.type != BUNDLE_DIR)
			continue;
		int rc = settle_dir(putback, step, &why);
		if (rc < 0 && (rc = give_up(putback, step, &why, err)) < 0)
			return rc;
		if (changed && !step->failed)
			putback->restored++;
	}
	return 0;
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

static int run_stages(struct putback *putback, struct err *err)
{
	int rc;

	if ((rc = remove_all(putback, false, err)) >= 0 &&
		(rc = run_stage(putback, STAGE_DIRS, err)) >= 0 &&
		(rc = move_all(putback, err)) >= 0 && (rc = remove_all(putback, true, err)) >= 0 &&
		(rc = run_stage(putback, STAGE_FILES, err)) >= 0)
		rc = run_stage(putback, STAGE_NAMES, err);
	return rc;
}

int putback_apply(struct putback *putback, struct err *err)
{
	sigset_t before;
	int rc;

	if (putback->conflicts)
		return err_set(err, ERR_BUSY, "%zu %s changed since; nothing was touched",
			putback->conflicts, putback->conflicts == 1 ? "path was" : "paths were");
	if (putback->missing)
		return err_set(err, ERR_NOT_FOUND,
			"the bundle lacks what %zu %s; nothing was touched", putback->missing,
			putback->missing == 1 ? "path needs" : "paths need");
	hold_signals(&before);
	if (!putback->options.fresh)
		putback_dir_take_over(putback);
	rc = run_stages(putback, err);
	/* Even when it ended early: rights that were given must not remain. */
	struct err ignored = { 0 };
	int last = settle_dirs(putback, rc < 0, rc < 0 ? &ignored : err);
	putback_dir_settle(putback, rc < 0);
	if (rc >= 0 && last >= 0)
		last = putback_sync_all(putback, err);
	putback_sync_clear(putback);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	count(putback);
	return rc < 0 ? rc : last < 0 ? last : 0;
}
