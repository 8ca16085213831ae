/*
 * Finds out whether the file at a path is the result of a call of the command.
 *
 * Another program may replace or edit a file that the command has only renamed, removed or given
 * another mode.  The file at the path is then not the result of any call of the command, and a
 * restore must not touch it.
 *
 * A file is recognised by its inode number.  overlayfs may change that number when the file is
 * written for the first time.  In this case either the device number changes as well, or the file
 * has several names.  Such a file counts as the same file.
 */
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/when.h"
#include "trace/observe/recorder_priv.h"

void recorder_name_change(struct recorder *recorder, struct record *record, enum record_name name,
	const struct statx *stx)
{
	record->name = name;
	record->placed = stx && stx->stx_nlink == 1;
	if (!record->placed)
		return;
	record->placed_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	record->placed_ino = stx->stx_ino;
}

void recorder_name_settle(struct recorder *recorder, const struct pathmap_entry *entry)
{
	struct record *record = recorder_find(recorder, entry);
	struct statx stx;

	if (record && !record->ignored && !entry->untouchable && !record->placed &&
		record->name == RECORD_NAME_MADE && at_abs_stat(record->path.ptr, &stx) == 0)
		recorder_name_change(recorder, record, RECORD_NAME_MADE, &stx);
}

static bool is_file(const struct filestate *state, uint64_t dev, uint64_t ino)
{
	return state->dev != dev || state->ino == ino;
}

/* Whether the file that is at the path now was there before the command. */
static bool is_old_file(const struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	if (!before->exists)
		return false;
	/* The kernel may give a new file the inode number of a removed file. */
	if (record->name == RECORD_NAME_REMOVED && before->born != after->born)
		return false;
	return before->nlink > 1 || is_file(after, before->dev, before->ino);
}

bool recorder_name_is_own(const struct record *record)
{
	const struct filestate *after = &record->after;

	switch (record->name) {
	case RECORD_NAME_KEPT:
	case RECORD_NAME_REMOVED: /* the call that should have removed the file may have failed */
		break;
	case RECORD_NAME_MADE:
	case RECORD_NAME_MOVED:
		if (!record->placed || is_file(after, record->placed_dev, record->placed_ino))
			return true;
		break;
	}
	return is_old_file(record);
}

/* The operations of the command on a file, under its present path and under its earlier paths. */
struct past {
	/* the record with the state of the file before the command; NULL: not known */
	struct record *first;
	unsigned ops;
	bool retimed;
};

static struct past find_past(
	const struct recorder *recorder, struct record *record, uint64_t dev, uint64_t ino)
{
	struct past past = { .ops = record->ops, .retimed = record->retimed };
	struct record *at = record->origin ?: record;

	/*
	 * The number of steps is limited, because the records form a ring if a file is renamed back
	 * to one of its earlier paths.
	 */
	for (unsigned i = 0; at && i < recorder->renames; i++, at = at->origin) {
		past.ops |= at->ops;
		past.retimed |= at->retimed;
		if (at->before.exists && at->before.ino == ino && at->before.dev == dev) {
			past.first = at;
			break;
		}
	}
	return past;
}

/* Whether the content has changed, and no call of the command has changed it. */
static bool is_edited(const struct past *past, uint64_t size, int64_t mtime)
{
	if (!past->first || past->ops & BUNDLE_WRITE)
		return false;
	return past->first->before.size != size ||
	       (past->first->before.mtime != mtime && !past->retimed);
}

bool recorder_name_is_edited(const struct recorder *recorder, struct record *record)
{
	const struct filestate *after = &record->after;
	const struct past past = find_past(recorder, record, after->dev, after->ino);

	return S_ISREG(after->mode) && record->name != RECORD_NAME_MADE &&
	       is_edited(&past, after->size, after->mtime);
}

void recorder_name_add_overtaken(struct recorder *recorder, struct record *record)
{
	if (!record->overtaken)
		reasons_add(recorder->reasons,
			"another process changed '%s' before the command did: the content in "
			"between was not saved",
			record->path.ptr);
	record->overtaken = true;
}

void recorder_name_check_overtaken(
	struct recorder *recorder, struct record *record, const struct statx *stx)
{
	uint64_t dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	struct past past;

	if (!record || record->ignored || !record->changing || !S_ISREG(stx->stx_mode) ||
		stx->stx_nlink > 1)
		return;
	past = find_past(recorder, record, dev, stx->stx_ino);
	if (is_edited(&past, stx->stx_size, when_of(stx->stx_mtime.tv_sec, stx->stx_mtime.tv_nsec)))
		recorder_name_add_overtaken(recorder, past.first);
}
