#include "trace/observe/recorder_priv.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"

void recorder_init(struct recorder *recorder, struct pathmap *map, struct saver *saver,
	struct reasons *reasons)
{
	*recorder = (struct recorder){
		.map = map,
		.saver = saver,
		.reasons = reasons,
		.renames = 1,
		.read_limit = RECORDER_READ_LIMIT,
		.uid = geteuid(),
	};
	recorder_look_init(recorder);
}

void recorder_release(struct recorder *recorder)
{
	workqueue_release(&recorder->look_queue);
	/*
	 * Wait for the saver before the records are released, since jobs of the saver point to
	 * records.
	 */
	if (recorder->saver)
		saver_wait_all(recorder->saver);
	for (struct record *record = recorder->records; record; record = record->next)
		if (record->processes != record->few)
			free(record->processes);
	for (struct repository *repo = recorder->repositories; repo; repo = repo->next)
		git_close(repo->git);
	free(recorder->paths);
	free(recorder->directories);
	free(recorder->sorted);
	free(recorder->touched);
	unrecorded_release(&recorder->unrecorded);
	arena_release(&recorder->arena);
	arena_release(&recorder->looked);
	for (size_t i = 0; i < PAR_MAX; i++)
		arena_release(&recorder->last[i]);
}

void recorder_catch_up(struct recorder *recorder)
{
	workqueue_hold(&recorder->look_queue);
}

void recorder_look_at_once(struct recorder *recorder)
{
	recorder_catch_up(recorder);
	recorder->at_once = true;
}

bool recorder_exists(struct recorder *recorder, struct pathmap_entry *entry, struct statx *stx)
{
	return pathmap_stat(recorder->map, entry, stx) == 0;
}

/* --- files with several names --- */

bool recorder_has_names(const struct filestate *state)
{
	return state->exists && !S_ISDIR(state->mode) && state->nlink > 1;
}

static struct record **linked_bucket(struct recorder *recorder, const struct filestate *state)
{
	return &recorder->linked[state->ino % RECORDER_BUCKETS];
}

struct record *recorder_changing_name(struct recorder *recorder, const struct record *record)
{
	const struct filestate *state = &record->before;
	struct record *other = S_ISDIR(state->mode) ? NULL : *linked_bucket(recorder, state);

	while (other && (other == record || !filestate_same_inode(&other->before, state)))
		other = other->next_linked;
	return other;
}

void recorder_add_touched(struct recorder *recorder, uint64_t dev, uint64_t ino)
{
	mem_grow(&recorder->touched, &recorder->cap_touched, recorder->n_touched);
	recorder->touched[recorder->n_touched++] = (struct recorder_inode){ dev, ino };
}

/* --- records --- */

struct recorder_path *recorder_path(struct recorder *recorder, const struct pathmap_entry *entry)
{
	pathmap_make_room(&recorder->paths, &recorder->n_paths, entry);
	return &recorder->paths[entry->number];
}

bool recorder_is_ignored(const struct pathmap_entry *entry)
{
	for (; entry; entry = entry->parent)
		if (entry->ignored || !strcmp(entry->path.ptr + entry->name, ".git"))
			return true;
	return false;
}

static struct record *add_record(
	struct recorder *recorder, struct pathmap_entry *entry, bool brought)
{
	struct record *record = arena_alloc(&recorder->arena, sizeof(*record));

	recorder_path(recorder, entry)->record = record;
	record->entry = entry;
	record->path = entry->path;
	record->processes = record->few;
	record->cap_processes = RECORD_FEW_PROCESSES;
	record->next = recorder->records;
	recorder->records = record;
	recorder->n_records++;
	record->brought = brought;
	record->ignored = recorder_is_ignored(entry);
	if (!record->ignored)
		recorder_look_soon(recorder, record);
	return record;
}

static void make_room_for_process(struct record *record)
{
	_Static_assert(RECORD_FEW_PROCESSES < 16, "mem_grow makes room for at least 16");

	bool few = record->processes == record->few;

	if (record->n_processes < record->cap_processes)
		return;
	if (few) {
		record->processes = NULL;
		record->cap_processes = 0;
	}
	mem_grow(&record->processes, &record->cap_processes, record->n_processes);
	if (few)
		memcpy(record->processes, record->few, sizeof(record->few));
}

static void add_process(struct recorder *recorder, struct record *record)
{
	size_t at = record->n_processes;

	/*
	 * Search from the end of the list.  Thousands of older processes may have used the file,
	 * and this process is probably younger than most of them.
	 */
	while (at && record->processes[at - 1] > recorder->process)
		at--;
	if (at && record->processes[at - 1] == recorder->process)
		return;
	make_room_for_process(record);
	memmove(record->processes + at + 1, record->processes + at,
		(record->n_processes - at) * sizeof(*record->processes));
	record->processes[at] = recorder->process;
	record->n_processes++;
}

void recorder_expect_change(struct recorder *recorder, struct record *record)
{
	recorder_catch_up(recorder);
	if (record->unknown)
		reasons_add(recorder->reasons,
			"the state of '%s' before the command is not known: permission denied",
			record->path.ptr);
	if (!record->changing) {
		recorder_look_again(recorder, record);
		record->found &= record->before.exists;
	}
	record->foreign = false;
	if (recorder_has_names(&record->before))
		recorder_look_at_once(recorder);
	if (record->changing)
		return;
	record->changing = true;
	if (!record->before.exists || record->late)
		return;
	filestate_xattrs(record->path.ptr, &recorder->arena, &record->before);
	if (recorder_has_names(&record->before)) {
		record->next_linked = *linked_bucket(recorder, &record->before);
		*linked_bucket(recorder, &record->before) = record;
	}
}

struct record *recorder_note(struct recorder *recorder, struct pathmap_entry *entry, unsigned ops)
{
	struct record *record =
		recorder_find(recorder, entry) ?: add_record(recorder, entry, ops & BUNDLE_RENAME);

	if (record->ignored && ops & BUNDLE_CREATE)
		record->made = recorder->renames;
	if (record->ignored || entry->untouchable)
		return record;
	/*
	 * If the state is not known because the path was not accessible, look at the file again.
	 * The command may have made the path accessible since then.
	 */
	if (!workqueue_is_pending(&record->look) && record->unknown)
		recorder_look_soon(recorder, record);
	if (ops & BUNDLE_CHANGING)
		recorder_expect_change(recorder, record);
	record->inherited = false;
	record->ops |= ops;
	add_process(recorder, record);
	return record;
}

void recorder_names_change(struct recorder *recorder, struct pathmap_entry *directory)
{
	recorder_note(recorder, directory, BUNDLE_DIRECTORY)->names_change = true;
}

void recorder_link(struct recorder *recorder, struct record *from, struct record *to)
{
	/*
	 * Calls that do not use the old name may change the attributes of the file under its new
	 * name.  So such a change must be expected from now on.
	 */
	if (!from->ignored)
		recorder_expect_change(recorder, from);
	recorder_look_at_once(recorder);
	if (to != from && to->alias != from && from->alias != to)
		to->alias = from;
}
