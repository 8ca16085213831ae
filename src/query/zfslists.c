#include "query/zfslists.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/zfstool.h"

void zfslists_release(struct zfslists *lists)
{
	for (size_t i = 0; i < lists->n; i++) {
		zfslist_release(&lists->entries[i].list);
		free(lists->entries[i].dataset);
	}
	free(lists->entries);
	*lists = (struct zfslists){ 0 };
}

static bool is_of(const struct zfslists_entry *entry, struct str dataset)
{
	return str_eq(str_of(entry->dataset), dataset);
}

/* zfs lists all snapshots of a dataset before the next dataset, so the last entry usually fits. */
static struct zfslists_entry *entry_of(struct zfslists *lists, struct str dataset)
{
	for (size_t i = lists->n; i > 0; i--)
		if (is_of(&lists->entries[i - 1], dataset))
			return &lists->entries[i - 1];
	mem_grow(&lists->entries, &lists->cap, lists->n);
	struct zfslists_entry *entry = &lists->entries[lists->n++];
	*entry = (struct zfslists_entry){ .dataset = mem_zalloc(dataset.len + 1) };
	memcpy(entry->dataset, dataset.ptr, dataset.len);
	return entry;
}

struct asking {
	struct zfslists *lists;
	struct tool_call call;
	size_t count;
};

static void release_asking(struct asking *asking)
{
	tool_release(&asking->call);
}

static int take_line(void *arg, struct str line, struct err *err)
{
	struct asking *asking = arg;
	struct zfsline_snapshot snapshot;

	if (!zfsline_snapshot(line, &snapshot))
		return zfstool_garbage(&asking->call, line, "a snapshot", err);
	if (++asking->count > ZFSLIST_SNAPSHOTS_MAX)
		return 1;
	return zfslist_add(&entry_of(asking->lists, snapshot.dataset)->list, &snapshot, err);
}

int zfslists_make(struct zfslists *lists, struct family *family, struct err *err)
{
	static const char *const argv[] = { "zfs", "list", "-H", "-p", "-t", "snapshot", "-o",
		"name,creation,used,referenced", NULL };
	owned(release_asking) struct asking asking = {
		.lists = lists,
		.call = { .argv = argv, .visit = take_line },
	};

	asking.call.arg = &asking;
	zfslists_release(lists);
	int r = zfstool_run(family, &asking.call, err);
	if (r < 0 || asking.count > ZFSLIST_SNAPSHOTS_MAX)
		zfslists_release(lists);
	else
		lists->made = true;
	return r;
}

bool zfslists_take(struct zfslists *lists, const char *dataset, struct zfslist *list)
{
	struct zfslists_entry *entry = NULL;

	if (!lists->made || list->visitors)
		return false;
	for (size_t i = 0; !entry && i < lists->n; i++)
		if (is_of(&lists->entries[i], str_of(dataset)))
			entry = &lists->entries[i];
	if (entry && entry->taken)
		return false;
	zfslist_release(list);
	if (!entry)
		return true;
	*list = entry->list;
	entry->list = (struct zfslist){ 0 };
	entry->taken = true;
	zfslist_sort(list);
	return true;
}
