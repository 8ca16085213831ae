/*
 * Looks at every file again when the command has ended.  Changed contents are saved.  The records
 * of files with several names are joined.  Each change is attributed to the command or to another
 * process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/observe/recorder_priv.h"

/* one thread looks at all files if there are at most this many */
#define ALONE_MAX 1000
#define RACY_NS (20 * WHEN_MS)           /* two ticks of the slowest kernel clock */
#define RACY_COARSE_NS (2 * WHEN_SECOND) /* for file systems that store times in whole seconds */

/* --- the last look --- */

static bool is_same_file(const struct filestate *a, const struct filestate *b)
{
	return a->exists && b->exists && filestate_same_inode(a, b) && a->size == b->size &&
	       S_ISREG(a->mode);
}

/*
 * Whether the file was changed just before the first look.  If so, a change just after the first
 * look may not show in the times.
 */
static bool is_racy(const struct record *record)
{
	int64_t margin = record->before.ctime % WHEN_SECOND ? RACY_NS : RACY_COARSE_NS;

	return record->before.ctime >= record->looked_at - margin;
}

/*
 * Whether the content may have changed.  A new ctime alone proves nothing, because chmod(2) and
 * link(2) change the ctime, too.  A new ctime counts only if the file was opened for writing, made
 * or renamed.
 */
static bool content_changed(const struct record *record)
{
	const unsigned rewritten = BUNDLE_WRITE | BUNDLE_CREATE | BUNDLE_RENAME;
	const struct filestate *before = &record->before, *after = &record->after;

	if (!is_same_file(before, after))
		return true;
	if (before->mtime == after->mtime)
		return record->ops & rewritten &&
		       (before->ctime != after->ctime || is_racy(record));
	/*
	 * The content is unchanged if the command has only set the times of the file, and the file
	 * has no other name.
	 */
	return record->ops & rewritten || !record->retimed || before->nlink > 1 || after->nlink > 1;
}

/* A record, and its path.  The path is a copy, so that sorting reads memory in order. */
struct sortable {
	struct str path;
	struct record *record;
};

/* Data of one thread that looks at a part of the records. */
struct share {
	struct recorder *recorder;
	struct sortable *records;
	size_t n, taken;
	struct arena *arena;
	const struct pathmap_entry *parent; /* directory of the last record */
	/* descriptor of 'parent', or -errno if it cannot be opened */
	int directory;
};

/*
 * Call stat(2) for an entry, relative to its directory.  The directory is opened once for all its
 * records.  The path cannot lead to another place, since no directory in an entry's path is a
 * symbolic link.
 */
static int stat_in(struct share *share, const struct pathmap_entry *entry, struct statx *stx)
{
	if (!entry->parent)
		return at_abs_stat(entry->path.ptr, stx);
	if (share->parent != entry->parent) {
		close_fd(&share->directory);
		share->directory = at_abs_open(entry->parent->path.ptr, O_PATH | O_DIRECTORY);
		share->parent = entry->parent;
	}
	if (share->directory < 0)
		return at_scarce(-share->directory) ? at_abs_stat(entry->path.ptr, stx)
						    : share->directory;
	return at_name_stat(share->directory, entry->path.ptr + entry->name, stx);
}

static void look_for_the_last_time(struct share *share, struct record *record)
{
	struct recorder *recorder = share->recorder;
	const char *path = record->path.ptr;
	struct statx stx;
	int r = stat_in(share, record->entry, &stx);

	if (r == 0)
		r = filestate_of(path, &stx, share->arena, &record->after);
	if (r == 0 && record->changing)
		filestate_xattrs(path, share->arena, &record->after);
	/* a file that could not be examined may exist */
	record->unknown = r < 0 && !recorder_look_is_missing(r);
	if (record->unknown)
		reasons_add(recorder->reasons, "'%s' could not be examined after the command: %s",
			path, strerror(-r));
}

static int compare_paths(const void *a, const void *b)
{
	return str_cmp(((const struct sortable *)a)->path, ((const struct sortable *)b)->path);
}

static void look_at_share(void *arg)
{
	struct share *share = arg;

	qsort(share->records, share->n, sizeof(*share->records), compare_paths);
	for (size_t i = 0; i < share->n; i++)
		look_for_the_last_time(share, share->records[i].record);
	close_fd(&share->directory);
}

static struct record *take_next_record(struct share *shares, unsigned n)
{
	struct share *least = &shares[0];

	for (unsigned i = 1; i < n; i++) {
		struct share *share = &shares[i];

		if (share->taken == share->n)
			continue;
		if (least->taken == least->n || compare_paths(&share->records[share->taken],
							&least->records[least->taken]) < 0)
			least = share;
	}
	return least->records[least->taken++].record;
}

/* Look at the files of all records for the last time, and sort the records by path. */
static void finish_shares(struct recorder *recorder, struct sortable *records, size_t n)
{
	unsigned threads = n > ALONE_MAX ? par_cpus() : 1;
	struct par *par = par_new(threads > 1 ? threads : 0);
	struct share shares[PAR_MAX];

	for (unsigned i = 0; i < threads; i++) {
		size_t from = n * i / threads;

		shares[i] = (struct share){
			.recorder = recorder,
			.records = records + from,
			.n = n * (i + 1) / threads - from,
			.arena = &recorder->last[i],
			.directory = -ENOENT,
		};
		par_submit(par, look_at_share, &shares[i]);
	}
	par_free(par);
	recorder->sorted = mem_alloc((n + 1) * sizeof(struct record *));
	for (size_t i = 0; i < n; i++)
		recorder->sorted[i] = take_next_record(shares, threads);
	recorder->n_sorted = n;
}

static void finish_records(struct recorder *recorder)
{
	owned_mem struct sortable *records =
		mem_alloc((recorder->n_records + 1) * sizeof(*records));
	size_t n = 0;

	for (struct record *record = recorder->records; record; record = record->next)
		if (!record->ignored && !record->foreign && record->ops && !record->unknown)
			records[n++] = (struct sortable){ record->path, record };
	finish_shares(recorder, records, n);
}

static void save_content_after(struct recorder *recorder, struct record *record)
{
	const char *path = record->path.ptr;
	uint64_t number;

	if (!recorder->saver || !record->after.exists || !S_ISREG(record->after.mode) ||
		!content_changed(record))
		return;
	const char *key = recorder_content_key(recorder, "after", record->entry);
	/*
	 * If the command did not change the file, another process did.  Then a large file needs
	 * only a digest.
	 */
	bool digest = !(record->ops & BUNDLE_CHANGING) && record->after.size > recorder->read_limit;
	int r = recorder_content_queue(recorder, record, &record->after, key, digest, &number);
	if (r < 0)
		reasons_add(recorder->reasons,
			"the content of '%s' after the command was not saved: %s", path,
			strerror(-r));
}

static bool is_time_out_of_range(const struct filestate *state)
{
	return state->exists && (state->mtime >= WHEN_LAST || state->mtime <= WHEN_FIRST);
}

static void check_times(struct recorder *recorder, const struct record *record)
{
	if (is_time_out_of_range(&record->before) || is_time_out_of_range(&record->after))
		reasons_add(recorder->reasons,
			"the time of '%s' is after the year 2262 or before 1677, which a manifest "
			"cannot hold",
			record->path.ptr);
}

/* --- which process changed a file --- */

static int compare_inodes(const void *a, const void *b)
{
	const struct recorder_inode *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

static bool is_touched(const struct recorder *recorder, const struct filestate *state)
{
	const struct recorder_inode inode = { state->dev, state->ino };

	return state->exists && recorder->n_touched &&
	       bsearch(&inode, recorder->touched, recorder->n_touched, sizeof(inode),
		       compare_inodes);
}

/*
 * If a file with several names was changed under one of them, it has changed under all of them.
 * Add such files to 'touched'.
 */
static void touch_changed_inodes(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->n_sorted; i++) {
		const struct record *record = recorder->sorted[i];

		if (!(record->ops & (BUNDLE_WRITE | BUNDLE_METADATA)))
			continue;
		if (recorder_has_names(&record->before))
			recorder_add_touched(recorder, record->before.dev, record->before.ino);
		if (recorder_has_names(&record->after))
			recorder_add_touched(recorder, record->after.dev, record->after.ino);
	}
	if (recorder->n_touched)
		qsort(recorder->touched, recorder->n_touched, sizeof(*recorder->touched),
			compare_inodes);
}

/* Whether a directory has changed only in its times, because names in it were made or removed. */
static bool changed_by_names(const struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	return record->names_change && before->mode == after->mode && before->uid == after->uid &&
	       before->gid == after->gid;
}

/*
 * Whether another process changed the path after the command did, so that the file there is not the
 * result of the command.  If a restore undid the change of the command, the change of the other
 * process would be lost.
 */
static bool is_contested(const struct recorder *recorder, struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	if (!(record->ops & BUNDLE_CHANGING) || !after->exists || record->inherited ||
		record->raced)
		return false;
	/*
	 * Directories are never contested, since a restore removes no directory that has files of
	 * other processes.
	 */
	if (S_ISDIR(after->mode) && (!before->exists || S_ISDIR(before->mode)))
		return false;
	if (is_touched(recorder, after))
		return false;
	return !recorder_name_is_own(record) || recorder_name_is_edited(recorder, record);
}

/* Whether the file has appeared or disappeared, and no call of the command made or removed it. */
static bool is_made_or_removed_by_other(const struct record *record)
{
	if (record->name != RECORD_NAME_KEPT || record->raced)
		return false;
	return record->before.exists ? !record->after.exists && !(record->ops & BUNDLE_WRITE)
				     : record->after.exists;
}

static enum record_changed changed_by(const struct recorder *recorder, struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	if (filestate_same(before, after) &&
		!(before->exists && S_ISREG(before->mode) && content_changed(record)))
		return RECORD_UNCHANGED;
	if (is_made_or_removed_by_other(record))
		return RECORD_BY_OTHER;
	if (is_contested(recorder, record)) {
		record->contested = true;
		reasons_add(recorder->reasons,
			"another program changed '%s' after the command had changed it",
			record->path.ptr);
		return RECORD_BY_OTHER;
	}
	record->contested = record->overtaken || (record->ops & BUNDLE_CHANGING && before->changed);
	if (record->ops & BUNDLE_CHANGING || changed_by_names(record) ||
		is_touched(recorder, before) || is_touched(recorder, after))
		return RECORD_BY_COMMAND;
	return RECORD_BY_OTHER;
}

static void attribute_changes(struct recorder *recorder)
{
	touch_changed_inodes(recorder);
	for (size_t i = 0; i < recorder->n_sorted; i++)
		recorder->sorted[i]->changed = changed_by(recorder, recorder->sorted[i]);
}

/*
 * Complete the data about the contents of a record.  To be called when the saver has done all its
 * jobs.
 */
static void complete_content(struct recorder *recorder, struct record *record)
{
	struct filestate *before = &record->before, *after = &record->after;

	if (before->content == FILESTATE_IN_GIT &&
		!git_has(record->repository->git, record->git.oid))
		saver_unspool(recorder->saver,
			recorder_content_key(recorder, "before", record->entry), before);
	if ((before->hashed || before->blocks_hashed) && !content_changed(record))
		filestate_share_content(after, before);
}

/* --- names of one file --- */

/* One of the two states of a record whose file has several names. */
struct name {
	struct record *record;
	const struct filestate *state;
};

static int compare_names_by_inode(const void *a, const void *b)
{
	const struct filestate *x = ((const struct name *)a)->state;
	const struct filestate *y = ((const struct name *)b)->state;

	return compare_inodes(&(struct recorder_inode){ x->dev, x->ino },
		&(struct recorder_inode){ y->dev, y->ino });
}

/* Whether the file was changed under any of its names. */
static bool is_file_changed(const struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	if (!before->exists || !after->exists || !filestate_same_inode(before, after))
		return record->ops & (BUNDLE_WRITE | BUNDLE_METADATA);
	return !filestate_same(before, after) || (S_ISREG(before->mode) && content_changed(record));
}

/*
 * Make the bundle incomplete if a changed file has names without a record.  The file has changed
 * under those names, too, but finding them would need a walk over the whole file system.
 */
static void check_unseen_names(struct recorder *recorder, const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct record *record = names[i].record;

		if (n < names[i].state->nlink && is_file_changed(record)) {
			reasons_add(recorder->reasons,
				"'%s' was changed and has %zu more names that were not seen",
				record->path.ptr, names[i].state->nlink - n);
			return;
		}
	}
}

/*
 * Find a name whose content is in the table, and return its state.  Returns NULL if there is none.
 */
static const struct filestate *find_saved(
	struct recorder *recorder, const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].state->content == FILESTATE_BLOB)
			return names[i].state;
	/* If git has the content under only some of the names, put the content into the table. */
	for (size_t i = 0; i < n && recorder->saver; i++) {
		struct filestate *state = record_state(names[i].record, false);

		if (state->content != FILESTATE_IN_GIT || !state->spooled)
			continue;
		saver_unspool(recorder->saver,
			recorder_content_key(recorder, "before", names[i].record->entry), state);
		return state->content == FILESTATE_BLOB ? state : NULL;
	}
	return NULL;
}

static bool is_any_unsaved(const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].state->content == FILESTATE_UNSAVED && S_ISREG(names[i].state->mode))
			return true;
	return false;
}

/* Let all names of a file share the content that was saved under one of them. */
static void share_content(struct recorder *recorder, const struct name *names, size_t n)
{
	const struct filestate *saved =
		is_any_unsaved(names, n) ? find_saved(recorder, names, n) : NULL;

	for (size_t i = 0; i < n && saved; i++) {
		struct filestate *state = record_state(names[i].record, false);

		if (state->content == FILESTATE_UNSAVED && state->size == saved->size &&
			state->mtime == saved->mtime)
			filestate_share_content(state, saved);
	}
}

static void link_ring(const struct name *names, size_t n, bool after)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += names[i].record->path.len;
	for (size_t i = 0; i < n && n > 1; i++) {
		struct filestate *state = record_state(names[i].record, after);

		state->next_name = names[(i + 1) % n].record;
		state->names_bytes = bytes;
	}
}

/*
 * Find the records of each file that has several names, and link the records of one file into a
 * ring.
 */
static void link_names(struct recorder *recorder, bool after)
{
	owned_mem struct name *names = mem_alloc((recorder->n_sorted + 1) * sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < recorder->n_sorted; i++) {
		struct record *record = recorder->sorted[i];
		const struct filestate *state = record_state(record, after);

		if (recorder_has_names(state))
			names[n++] = (struct name){ record, state };
	}
	qsort(names, n, sizeof(*names), compare_names_by_inode);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && !compare_names_by_inode(&names[i], &names[end]); end++)
			;
		link_ring(names + i, end - i, after);
		check_unseen_names(recorder, names + i, end - i);
		if (!after)
			share_content(recorder, names + i, end - i);
	}
}

void recorder_finish(struct recorder *recorder)
{
	workqueue_stop(&recorder->look_queue);
	unrecorded_finish(&recorder->unrecorded);
	finish_records(recorder);
	size_t known = 0;
	for (size_t i = 0; i < recorder->n_sorted; i++) {
		struct record *record = recorder->sorted[i];

		save_content_after(recorder, record);
		check_times(recorder, record);
		if (!record->unknown)
			recorder->sorted[known++] = record;
	}
	recorder->n_sorted = known;
	if (recorder->saver)
		saver_wait_all(recorder->saver);
	for (size_t i = 0; i < recorder->n_sorted; i++) {
		struct record *record = recorder->sorted[i];

		record->listed = true;
		complete_content(recorder, record);
		if (record->repository)
			record->repository->named = true;
	}
	link_names(recorder, false);
	link_names(recorder, true);
	attribute_changes(recorder);
}
