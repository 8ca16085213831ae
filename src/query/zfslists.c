#include "query/zfslists.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"

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

/*
 * Returns the entry of a dataset.  If there is none, the entry is added.  The search begins at the
 * last entry, since zfs lists all snapshots of a dataset one after another.
 */
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

struct filling {
	struct zfslists *lists;
	size_t count;
};

static int take_snapshot(void *arg, const struct zfsline_snapshot *snapshot, struct err *err)
{
	struct filling *filling = arg;

	if (++filling->count > ZFSLIST_SNAPSHOTS_MAX)
		return 1;
	return zfslist_add(&entry_of(filling->lists, snapshot->dataset)->list, snapshot, err);
}

int zfslists_make(struct zfslists *lists, struct family *family, struct err *err)
{
	struct filling filling = { .lists = lists };

	zfslists_release(lists);
	int r = zfslist_ask(family, NULL, take_snapshot, &filling, err);
	if (r < 0 || filling.count > ZFSLIST_SNAPSHOTS_MAX)
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
