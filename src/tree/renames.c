#include "tree/renames.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"

static uint64_t content_key(const struct entry *entry)
{
	if (entry->type != ENTRY_DIR && entry->type != ENTRY_FILE)
		return 0;
	if (entry->content == ENTRY_EMPTY || entry->content == ENTRY_UNREAD)
		return 0;
	uint64_t key = hash_prefix(&entry->hash) + (uint64_t)entry->type;
	return key ? key : 1;
}

size_t renames_add(struct renames_list *list, const struct entry *entry, struct str path)
{
	mem_grow(&list->list, &list->cap, list->n);
	struct renames_item *item = &list->list[list->n];

	*item = (struct renames_item){
		.key = content_key(entry),
		.match = -1,
		.entry = *entry,
		.path = path,
	};
	item->entry.name = item->entry.target = (struct str){ "", 0 };
	return list->n++;
}

void renames_set_hash(struct renames_item *item, const struct hash *hash)
{
	if (hash)
		item->entry.hash = *hash;
	item->key = hash ? content_key(&item->entry) : 0;
}

void renames_release(struct renames_list *list)
{
	free(list->list);
	*list = (struct renames_list){ 0 };
}

/* ------------------------------------------------------------------ matching */

static int compare_keys(const void *a, const void *b, void *list)
{
	const struct renames_item *x = (const struct renames_item *)list + *(const uint32_t *)a;
	const struct renames_item *y = (const struct renames_item *)list + *(const uint32_t *)b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static void mark_below_match(struct renames_list *list, size_t i)
{
	for (size_t k = i + 1; k < list->list[i].end; k++)
		list->list[k].below_match = true;
}

static bool can_match(const struct renames_item *item, bool dirs)
{
	return item->key && (item->entry.type == ENTRY_DIR) == dirs && item->match < 0 &&
	       !item->below_match;
}

/* Returns the first position in 'order' with a key of at least 'key'.  'order' is sorted by key. */
static size_t first_with_key(const struct renames_list *list, const uint32_t *order, uint64_t key)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list->list[order[middle]].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void match_all(
	struct renames_list *gone, struct renames_list *come, const uint32_t *order, bool dirs)
{
	for (size_t i = 0; i < come->n; i++) {
		struct renames_item *new = &come->list[i];

		if (!can_match(new, dirs))
			continue;
		for (size_t at = first_with_key(gone, order, new->key);
			at < gone->n && gone->list[order[at]].key == new->key; at++) {
			struct renames_item *old = &gone->list[order[at]];

			if (!can_match(old, dirs) || !entry_same_content(&old->entry, &new->entry))
				continue;
			new->match = (int32_t)order[at];
			old->match = (int32_t)i;
			mark_below_match(come, i);
			mark_below_match(gone, order[at]);
			break;
		}
	}
}

void renames_match(struct renames_list *gone, struct renames_list *come)
{
	owned_mem uint32_t *order = mem_alloc((gone->n + 1) * sizeof(*order));

	for (uint32_t i = 0; i < gone->n; i++)
		order[i] = i;
	qsort_r(order, gone->n, sizeof(*order), compare_keys, gone->list);
	match_all(gone, come, order, true);
	match_all(gone, come, order, false);
}
