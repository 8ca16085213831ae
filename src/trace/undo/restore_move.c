/*
 * Some files and directories, such as .git, have no record in the bundle, so the bundle does not
 * have their contents.  A restore never makes or removes them.  It only renames them back to their
 * old places, after the directories for them have been made.  Directories out of which something
 * was renamed are removed afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "core/mem.h"
#include "core/own.h"
#include "trace/undo/restore_priv.h"

static bool is_pending(const struct restore_move *move)
{
	return move->step.action == RESTORE_MOVE;
}

bool restore_move_leaves(const struct restore *restore, struct str path)
{
	for (size_t i = 0; i < restore->n_moves; i++)
		if (is_pending(&restore->moves[i]) && str_eq(restore->moves[i].from->path, path))
			return true;
	return false;
}

bool restore_move_leaves_from(const struct restore *restore, struct str directory)
{
	for (size_t i = 0; i < restore->n_moves; i++)
		if (is_pending(&restore->moves[i]) &&
			restore->moves[i].from->path.len > directory.len &&
			str_within(restore->moves[i].from->path, directory))
			return true;
	return false;
}

/* ----------------------------------------------------------------- planning */

static void skip_move(struct restore_move *move, const char *reason)
{
	move->step.action = RESTORE_SKIP;
	move->step.reason = reason;
}

static const struct bundle_file *file_of(struct restore *restore, struct str path)
{
	struct bundle_file *file = arena_alloc(&restore->priv->arena, sizeof(*file));

	file->path = path;
	return file;
}

static bool is_recorded_one(
	const struct restore *restore, const struct restore_move *move, uint64_t ino)
{
	return restore->options.elsewhere || !move->ino || move->ino == ino;
}

static int choose_move(struct restore *restore, struct restore_move *move, struct err *err)
{
	struct restore_seen from;
	int rc = restore_see(restore, move->from, &from, err);

	if (rc >= 0)
		rc = restore_see(restore, &move->file, &move->step.seen, err);
	if (rc < 0)
		return rc;
	if (from.type == BUNDLE_NONE) {
		if (move->step.seen.type == BUNDLE_NONE && !restore->options.elsewhere)
			skip_move(move, "it was removed since, and is not recorded");
		return 0;
	}
	bool there = move->step.seen.type != BUNDLE_NONE;
	if (!is_recorded_one(restore, move, from.ino)) {
		if (!there)
			skip_move(move, "something else is where it was moved to");
		return 0;
	}
	if (there && (restore->options.elsewhere || !move->ino)) {
		skip_move(move, "something is there already");
		return 0;
	}
	move->step.action = RESTORE_MOVE;
	move->step.reason = arena_printf(&restore->priv->arena, "from '%s'", move->from->path.ptr);
	return 0;
}

/* Skip a rename if the target name belongs to a file that will not be renamed away. */
static void check_places(struct restore *restore)
{
	for (size_t i = 0; i < restore->n_moves; i++) {
		struct restore_move *move = &restore->moves[i];

		if (is_pending(move) && move->step.seen.type != BUNDLE_NONE &&
			!restore_move_leaves(restore, move->file.path))
			skip_move(move, "something else is there now");
	}
}

static void add_lost(struct restore *restore)
{
	const struct bundle *bundle = restore->bundle;

	for (size_t i = 0; i < bundle->n_lost; i++) {
		struct restore_move *move = &restore->moves[restore->n_moves++];

		*move = (struct restore_move){ .file.path = bundle->lost[i] };
		skip_move(move, "the command removed it, and it is not recorded");
	}
}

/* Do not remove a path inside a thing, since the path is renamed with the thing. */
static void spare_steps(struct restore *restore)
{
	for (size_t i = 0; i < restore->n_steps; i++) {
		struct restore_step *step = &restore->steps[i];

		for (size_t k = 0; step->action == RESTORE_DELETE && k < restore->n_moves; k++) {
			const struct restore_move *move = &restore->moves[k];

			if (is_pending(move) && str_within(step->file->path, move->from->path))
				step->action = RESTORE_NOTHING;
		}
	}
}

int restore_move_plan(struct restore *restore, struct err *err)
{
	const struct bundle *bundle = restore->bundle;
	bool before = restore->options.side == BUNDLE_BEFORE;
	int rc = 0;

	/* In a copy of the files for another run of the command, things stay where they are. */
	if (restore->options.fresh || !(bundle->n_moved + bundle->n_lost))
		return 0;
	restore->moves = mem_zalloc((bundle->n_moved + bundle->n_lost) * sizeof(*restore->moves));
	for (size_t i = 0; i < bundle->n_moved && rc >= 0; i++) {
		const struct bundle_moved *moved = &bundle->moved[i];

		/*
		 * If the new place of a thing has a record, the bundle has the content after the
		 * command, and nothing has to be renamed to that place.
		 */
		if (!before && bundle_find(bundle, moved->to))
			continue;
		struct restore_move *move = &restore->moves[restore->n_moves++];
		*move = (struct restore_move){
			.file.path = before ? moved->from : moved->to,
			.from = file_of(restore, before ? moved->to : moved->from),
			.ino = moved->ino,
		};
		struct err why = { 0 };
		if (choose_move(restore, move, &why) < 0)
			rc = restore_plan_fail(restore, &move->step, &why, err);
	}
	check_places(restore);
	spare_steps(restore);
	if (before && rc >= 0)
		add_lost(restore);
	for (size_t i = 0; i < restore->n_moves; i++)
		restore->moves[i].step.file = &restore->moves[i].file;
	return rc;
}

/* ----------------------------------------------------------------- applying */

/*
 * Rename a thing to its old place.  The parameter flags is RENAME_NOREPLACE, or RENAME_EXCHANGE if
 * the place is taken.  Returns 1 or a negative error.
 */
static int rename_back(
	struct restore *restore, struct restore_move *move, unsigned flags, struct err *err)
{
	const char *name, *old;
	int rc = restore_dir_enter(restore, move->file.path, &name, err);
	owned_fd int to = rc < 0 ? -1 : fcntl(rc, F_DUPFD_CLOEXEC, 0);

	if (rc < 0)
		return rc;
	if (to < 0)
		return err_errno(err, "hold its directory");
	int from = restore_dir_enter(restore, move->from->path, &old, err);
	if (from < 0)
		return from;
	if (renameat2(from, old, to, name, flags) < 0)
		return err_errno(err, "rename it from '%s'", move->from->path.ptr);
	restore_see_forget(restore);
	move->done = true;
	return 1;
}

/* Record an exchange.  The thing that was in the target place of 'done' is now where 'done' was. */
static void note_exchange(struct restore *restore, const struct restore_move *done)
{
	for (size_t i = 0; i < restore->n_moves; i++) {
		struct restore_move *move = &restore->moves[i];

		if (!is_pending(move) || move->done || !str_eq(move->from->path, done->file.path))
			continue;
		move->from = done->from;
		move->done = str_eq(move->from->path, move->file.path);
	}
}

int restore_move_apply(
	struct restore *restore, struct restore_move *move, bool exchange, struct err *err)
{
	int rc = rename_back(restore, move, exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE, err);

	if (rc < 0 && err->code == ERR_SYSTEM && err->errno_value == EEXIST)
		return 0;
	if (rc > 0 && exchange)
		note_exchange(restore, move);
	return rc;
}
