/*
 * Records renames and removals.  When a directory is renamed, the path of every file below it
 * changes, too.  Each such file gets a record for its old path and a record for its new path.
 */
#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"
#include "trace/observe/recorder_priv.h"

#define DEPTH_MAX 256 /* maximum number of levels below a renamed directory */

void recorder_move_begin(struct recorder *recorder, struct pathmap_entry *from,
	const struct statx *stx, struct pathmap_entry *to, bool exchange)
{
	recorder->renames++;
	unrecorded_rename(&recorder->unrecorded, recorder->map, from, stx, to, exchange);
}

/*
 * Whether the command made the path before the current call.  (The first half of an exchange has
 * already set record->made of one path to the present value of 'renames'.)
 */
static bool was_made(const struct recorder *recorder, const struct record *record)
{
	return record->made && record->made < recorder->renames;
}

/* Whether the path is ignored and its directory is not. */
static bool is_first_ignored(const struct record *record)
{
	return record->ignored &&
	       (!record->entry->parent || !recorder_is_ignored(record->entry->parent));
}

uint64_t recorder_move_remove(
	struct recorder *recorder, struct pathmap_entry *entry, const struct statx *stx)
{
	struct record *record = recorder_find(recorder, entry);

	if (is_first_ignored(record) && !record->made && !entry->untouchable)
		unrecorded_add_removal(&recorder->unrecorded, entry, stx);
	recorder_name_check_overtaken(recorder, record, stx);
	recorder_name_change(recorder, record, RECORD_NAME_REMOVED, NULL);
	return recorder_content_secure(recorder, record);
}

struct move {
	struct recorder *recorder;
	struct pathmap_entry *from, *to;
	unsigned depth;
	/* the move of a directory above 'from' is remembered, and covers everything in it */
	bool noted;
	uint64_t job; /* result: the saver's job, as recorder_content_secure returns it */
};

static void record_move(struct move *move);

static int record_child_move(void *arg, int dirfd, const char *name, struct err *err)
{
	struct move *parent = arg;
	struct pathmap *map = parent->recorder->map;
	struct move child = {
		.recorder = parent->recorder,
		.from = pathmap_child(map, parent->from, str_of(name)),
		.to = pathmap_child(map, parent->to, str_of(name)),
		.depth = parent->depth + 1,
		.noted = parent->noted,
	};

	record_move(&child);
	if (child.job > parent->job)
		parent->job = child.job;
	return 0;
}

static void record_move(struct move *move)
{
	struct recorder *recorder = move->recorder;
	struct record *from = recorder_note(recorder, move->from, BUNDLE_RENAME);
	struct err err = { 0 };
	struct statx stx;

	struct record *to = recorder_note(recorder, move->to, BUNDLE_RENAME);
	move->job = recorder_content_secure(recorder, from);
	if (!recorder_exists(recorder, move->from, &stx))
		return;
	/*
	 * Remember the move of an ignored file or directory out of its ignored directory.  A rename
	 * within an ignored directory is not remembered.
	 */
	if (from->ignored && !move->noted && !was_made(recorder, from) &&
		(!to->ignored || is_first_ignored(from))) {
		unrecorded_add_move(&recorder->unrecorded, move->from, move->to, &stx);
		move->noted = true;
	}
	/*
	 * In the second half of an exchange, the first half has just moved another file to this
	 * name.  So the name is not removed.
	 */
	if (from->made != recorder->renames)
		recorder_name_change(recorder, from, RECORD_NAME_REMOVED, NULL);
	recorder_name_change(recorder, to, RECORD_NAME_MOVED, &stx);
	to->made = recorder->renames;
	to->origin = from;
	if (!S_ISDIR(stx.stx_mode) || (from->ignored && to->ignored))
		return;
	owned_fd int fd = at_abs_open(move->from->path.ptr, O_RDONLY | O_DIRECTORY);
	int r = fd;
	if (fd >= 0 && move->depth < DEPTH_MAX)
		r = at_each_name(fd, ".", record_child_move, move, &err);
	if (r < 0 || move->depth >= DEPTH_MAX)
		reasons_add(recorder->reasons,
			"directory '%s' was renamed, and not everything in it was recorded",
			move->from->path.ptr);
}

uint64_t recorder_move(
	struct recorder *recorder, struct pathmap_entry *from, struct pathmap_entry *to)
{
	struct move move = { .recorder = recorder, .from = from, .to = to };

	record_move(&move);
	return move.job;
}
