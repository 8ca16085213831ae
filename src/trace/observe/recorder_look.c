/*
 * Looks at files for the first time.
 *
 * A program that only asks about a file does not wait until strata has looked at the file.  A call
 * that changes files waits until strata has looked at all files that were named before
 * (recorder_catch_up).
 *
 * strata does not see writes to a file that is already open.  As soon as such a write may change
 * the file of another record, the queue is no longer used: every file is looked at when it is named
 * (recorder_look_at_once).
 */
#include <errno.h>
#include <stdatomic.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/observe/recorder_priv.h"

/*
 * Pause of the thread in nanoseconds.  Because of the pause, the thread rarely has to be woken for
 * a program that names many files.
 */
#define PAUSE_NS (150 * 1000)
#define QUEUE_MAX ((size_t)64 << 20) /* maximum size of the queue in bytes */

/* --- git --- */

static struct repository *open_repository(struct recorder *recorder, struct pathmap_entry *root)
{
	struct repository *repo = arena_alloc(&recorder->looked, sizeof(*repo));
	struct err err = { 0 };

	repo->root = root->path;
	repo->git = git_open(root->path.ptr, &err);
	if (!repo->git && err.code != ERR_NOT_FOUND)
		reasons_add(recorder->reasons, "git repository '%s' could not be read: %s",
			root->path.ptr, err.text);
	if (!repo->git)
		return NULL;
	repo->next = recorder->repositories;
	recorder->repositories = repo;
	return repo;
}

static struct repository *repository_of(struct recorder *recorder, struct pathmap_entry *directory)
{
	struct repository *repo = NULL;
	struct statx stx;

	pathmap_make_room(&recorder->directories, &recorder->n_directories, directory);
	if (recorder->directories[directory->number].searched)
		return recorder->directories[directory->number].repository;
	owned_mem char *path = mem_printf("%s/.git", directory->parent ? directory->path.ptr : "");
	if (at_abs_stat(path, &stx) == 0)
		repo = open_repository(recorder, directory);
	if (!repo && directory->parent)
		repo = repository_of(recorder, directory->parent);
	recorder->directories[directory->number] = (struct recorder_directory){ repo, true };
	return repo;
}

static void ask_git(struct recorder *recorder, struct record *record, const struct statx *stx)
{
	struct repository *repo = repository_of(recorder, record->entry->parent);
	struct err err = { 0 };

	if (!repo)
		return;
	record->repository = repo;
	if (git_classify(repo->git, record_git_path(record).ptr, stx, &record->git, &err) < 0)
		record->git = (struct git_file){ .dirty = true };
}

bool recorder_look_is_clean(const struct record *record)
{
	return record->repository && record->git.tracked && !record->git.dirty;
}

/* --- looking --- */

static bool is_foreign(const struct recorder *recorder, const struct record *record)
{
	return record->before.exists && recorder->uid && record->before.uid != recorder->uid &&
	       (S_ISLNK(record->before.mode) || !at_abs_writable(record->path.ptr));
}

/*
 * If the file is being changed under another name, its state before the command is no longer on
 * disk.  Copy it from the record of that name.
 */
static void copy_state_of_other_name(struct recorder *recorder, struct record *record)
{
	struct record *other = recorder_changing_name(recorder, record);

	if (!other)
		return;
	record->before = other->before;
	record->looked_at = other->looked_at;
	record->before.content = FILESTATE_UNSAVED;
	record->before.hashed = false;
	record->before.blob = NULL;
	record->before.spooled = 0;
	record->late = true;
	record->alias = other;
}

bool recorder_look_is_missing(int r)
{
	/* ELOOP means that a directory of the path has been replaced by a symbolic link. */
	return r == -ENOENT || r == -ENOTDIR || r == -ENAMETOOLONG || r == -ELOOP;
}

static int stat_now(const struct record *record, struct statx *stx)
{
	const char *path = record->path.ptr;

	return record->brought ? at_abs_stat_strictly(path, stx) : at_abs_stat(path, stx);
}

/*
 * Look at a file for the first time.  The command has not changed the file yet, so its present
 * state is its state before the command.
 */
static void look_at_file(struct recorder *recorder, struct record *record)
{
	const struct pathmap_entry *entry = record->entry;
	const char *path = entry->path.ptr;
	struct statx stx;

	record->looked_at = when_coarse();
	int r = stat_now(record, &stx);
	if (r == 0)
		r = filestate_of(path, &stx, &recorder->looked, &record->before);
	record->unknown = r == -EACCES || r == -EPERM;
	if (r < 0 && !recorder_look_is_missing(r) && !record->unknown)
		reasons_add(
			recorder->reasons, "'%s' could not be examined: %s", path, strerror(-r));
	if (r == 0)
		copy_state_of_other_name(recorder, record);
	if (recorder_has_names(&record->before)) {
		record->next_named = recorder->named[record->before.ino % RECORDER_BUCKETS];
		recorder->named[record->before.ino % RECORDER_BUCKETS] = record;
	}
	record->foreign = is_foreign(recorder, record);
	if (!record->foreign && recorder->saver && entry->parent && !record->unknown &&
		!S_ISDIR(record->before.mode))
		ask_git(recorder, record, record->before.exists ? &stx : NULL);
	record->looked = true;
}

void recorder_look_again(struct recorder *recorder, struct record *record)
{
	const struct filestate *before = &record->before;
	struct filestate now = { 0 };
	struct statx stx;

	/*
	 * While the saver reads the file, the state belongs to the saver, and the saver itself
	 * notices changes.
	 */
	if (record->late || record->unknown || record->alias ||
		(record->saving && !saver_done(recorder->saver, record->saving)) ||
		recorder_has_names(before))
		return;
	int r = stat_now(record, &stx);
	if (r == 0)
		r = filestate_of(record->path.ptr, &stx, &recorder->looked, &now);
	bool same = filestate_same(before, &now);
	/*
	 * Directories are skipped.  The command may have changed the time of a directory by making
	 * or removing names in it.
	 */
	if ((r < 0 && !recorder_look_is_missing(r)) || recorder_has_names(&now) ||
		S_ISDIR(now.mode) || S_ISDIR(before->mode) || (same && before->ino == now.ino))
		return;
	if (!record->saving) {
		record->before = (struct filestate){ 0 };
		record->repository = NULL;
		record->git = (struct git_file){ 0 };
		look_at_file(recorder, record);
	} else if (!same) {
		recorder_name_add_overtaken(recorder, record);
	}
}

/* --- the queue --- */

static void look_at_record(struct recorder *recorder, struct record *record)
{
	if (!record->looked || record->unknown)
		look_at_file(recorder, record);
	else if (!record->changing && !record->saving)
		recorder_look_again(recorder, record);
	if (atomic_load_explicit(&record->wanted, memory_order_acquire))
		recorder_content_save(recorder, record);
}

static void look_at_queued(void *arg, const void *item)
{
	struct workqueue_once *look = workqueue_begin_once(item);

	look_at_record(arg, (struct record *)look);
	workqueue_end_once(look);
}

void recorder_look_soon(struct recorder *recorder, struct record *record)
{
	if (recorder->at_once)
		look_at_record(recorder, record);
	else
		workqueue_add_once(&recorder->look_queue, &record->look, QUEUE_MAX);
}

void recorder_look_init(struct recorder *recorder)
{
	workqueue_init(&recorder->look_queue, look_at_queued, recorder);
	recorder->look_queue.pause_ns = PAUSE_NS;
	recorder->look_queue.enough = SIZE_MAX;
}
