/*
 * What has no record, such as .git, is in no bundle: it is never made or removed here, only renamed
 * to where it was.  It is renamed when the directories are there and before those around it are
 * removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/putback_priv.h"

static bool is_pending(const struct putback_move *move)
{
	return move->step.action == PUTBACK_MOVE;
}

static bool is_below(struct str path, struct str top)
{
	return path.len > top.len && str_starts(path, top) && path.ptr[top.len] == '/';
}

bool putback_move_leaves(const struct putback *putback, struct str path)
{
	for (size_t i = 0; i < putback->n_moves; i++)
		if (is_pending(&putback->moves[i]) && str_eq(putback->moves[i].from->path, path))
			return true;
	return false;
}

bool putback_move_leaves_from(const struct putback *putback, struct str directory)
{
	for (size_t i = 0; i < putback->n_moves; i++)
		if (is_pending(&putback->moves[i]) &&
			is_below(putback->moves[i].from->path, directory))
			return true;
	return false;
}

/* ----------------------------------------------------------------- planning */

static void skip(struct putback_move *move, const char *reason)
{
	move->step.action = PUTBACK_SKIP;
	move->step.reason = reason;
}

static const struct bundle_file *file_of(struct putback *putback, struct str path)
{
	struct bundle_file *file = arena_alloc(&putback->priv->arena, sizeof(*file));

	file->path = path;
	return file;
}

static bool is_recorded_one(
	const struct putback *putback, const struct putback_move *move, uint64_t ino)
{
	return putback->options.elsewhere || !move->ino || move->ino == ino;
}

static int choose(struct putback *putback, struct putback_move *move, struct err *err)
{
	struct putback_seen from;
	int rc = putback_plan_see(putback, move->from, &from, err);

	if (rc >= 0)
		rc = putback_plan_see(putback, &move->file, &move->step.seen, err);
	if (rc < 0)
		return rc;
	if (from.type == BUNDLE_NONE) {
		if (move->step.seen.type == BUNDLE_NONE && !putback->options.elsewhere)
			skip(move, "it was removed since, and is not recorded");
		return 0;
	}
	bool there = move->step.seen.type != BUNDLE_NONE;
	if (!is_recorded_one(putback, move, from.ino)) {
		if (!there)
			skip(move, "something else is where it went");
		return 0;
	}
	if (there && (putback->options.elsewhere || !move->ino)) {
		skip(move, "something is there already");
		return 0;
	}
	move->step.action = PUTBACK_MOVE;
	move->step.reason = arena_printf(&putback->priv->arena, "from '%s'", move->from->path.ptr);
	return 0;
}

/* What is in the way must itself go elsewhere. */
static void check_ways(struct putback *putback)
{
	for (size_t i = 0; i < putback->n_moves; i++) {
		struct putback_move *move = &putback->moves[i];

		if (is_pending(move) && move->step.seen.type != BUNDLE_NONE &&
			!putback_move_leaves(putback, move->file.path))
			skip(move, "something else is there now");
	}
}

static void add_lost(struct putback *putback)
{
	const struct bundle *bundle = putback->bundle;

	for (size_t i = 0; i < bundle->n_lost; i++) {
		struct putback_move *move = &putback->moves[putback->n_moves++];

		*move = (struct putback_move){ .file.path = bundle->lost[i] };
		skip(move, "the command removed it, and it is not recorded");
	}
}

/* What goes back with a directory around it needs not be removed there. */
static void spare_steps(struct putback *putback)
{
	for (size_t i = 0; i < putback->n_steps; i++) {
		struct putback_step *step = &putback->steps[i];

		for (size_t k = 0; step->action == PUTBACK_DELETE && k < putback->n_moves; k++) {
			const struct putback_move *move = &putback->moves[k];

			if (is_pending(move) &&
				(str_eq(step->file->path, move->from->path) ||
					is_below(step->file->path, move->from->path)))
				step->action = PUTBACK_NOTHING;
		}
	}
}

int putback_move_plan(struct putback *putback, struct err *err)
{
	const struct bundle *bundle = putback->bundle;
	bool before = putback->options.side == BUNDLE_BEFORE;
	int rc = 0;

	/* A copy to work in is made for the command alone. */
	if (putback->options.fresh || !(bundle->n_moved + bundle->n_lost))
		return 0;
	putback->moves = mem_zalloc((bundle->n_moved + bundle->n_lost) * sizeof(*putback->moves));
	for (size_t i = 0; i < bundle->n_moved && rc >= 0; i++) {
		const struct bundle_moved *moved = &bundle->moved[i];

		/* Where it went to a place that has records, the bundle has its contents. */
		if (!before && bundle_find(bundle, moved->to))
			continue;
		struct putback_move *move = &putback->moves[putback->n_moves++];
		*move = (struct putback_move){
			.file.path = before ? moved->from : moved->to,
			.from = file_of(putback, before ? moved->to : moved->from),
			.ino = moved->ino,
		};
		struct err why = { 0 };
		if (choose(putback, move, &why) < 0)
			rc = putback_plan_fail(putback, &move->step, &why, err);
	}
	check_ways(putback);
	spare_steps(putback);
	if (before && rc >= 0)
		add_lost(putback);
	for (size_t i = 0; i < putback->n_moves; i++)
		putback->moves[i].step.file = &putback->moves[i].file;
	return rc;
}

/* ----------------------------------------------------------------- applying */

/* flags: RENAME_NOREPLACE, or RENAME_EXCHANGE with what is there. */
static int rename_back(
	struct putback *putback, struct putback_move *move, unsigned flags, struct err *err)
{
	const struct putback_step from_step = { .file = move->from };
	const char *name, *old;
	int rc = putback_dir_enter(putback, &move->step, &name, err);
	owned_fd int to = rc < 0 ? -1 : fcntl(rc, F_DUPFD_CLOEXEC, 0);

	if (rc < 0)
		return rc;
	if (to < 0)
		return err_errno(err, "hold its directory");
	int from = putback_dir_enter(putback, &from_step, &old, err);
	if (from < 0)
		return from;
	if (renameat2(from, old, to, name, flags) < 0)
		return err_errno(err, "rename it from '%s'", move->from->path.ptr);
	putback_plan_forget(putback);
	move->done = true;
	return 1;
}

/* What was there is now where this one was. */
static void redirect(struct putback *putback, const struct putback_move *done)
{
	for (size_t i = 0; i < putback->n_moves; i++) {
		struct putback_move *move = &putback->moves[i];

		if (!is_pending(move) || move->done || !str_eq(move->from->path, done->file.path))
			continue;
		move->from = done->from;
		move->done = str_eq(move->from->path, move->file.path);
	}
}

int putback_move_apply(
	struct putback *putback, struct putback_move *move, bool exchange, struct err *err)
{
	int rc = rename_back(putback, move, exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE, err);

	if (rc < 0 && err->code == ERR_SYSTEM && err->errno_value == EEXIST)
		return 0;
	if (rc > 0 && exchange)
		redirect(putback, move);
	return rc;
}
