#include "tree/treepair.h"

#include <stdlib.h>

#include "core/mem.h"

struct treepair *treepair_new(struct store *store)
{
	struct treepair *pair = mem_alloc(sizeof(*pair));

	treeiter_init(&pair->a, store);
	treeiter_init(&pair->b, store);
	pair->have_a = pair->have_b = false;
	return pair;
}

void treepair_freep(struct treepair **pair)
{
	treeiter_release(&(*pair)->a);
	treeiter_release(&(*pair)->b);
	free(*pair);
}

int treepair_open(
	struct treepair *pair, const struct entry *a, const struct entry *b, struct err *err)
{
	int r = 0;

	pair->have_a = pair->have_b = false;
	treeiter_close(&pair->a);
	treeiter_close(&pair->b);
	/* If both directories have the same top node, nothing in them differs. */
	if (a && b && a->content == b->content && hash_eq(&a->hash, &b->hash))
		return 0;
	if (a)
		r = treeiter_open(&pair->a, a, err);
	if (r >= 0 && b)
		r = treeiter_open(&pair->b, b, err);
	return r;
}

static int fetch_entry(struct treeiter *iter, struct entry *entry, bool *have, struct err *err)
{
	if (*have)
		return 0;
	int r = treeiter_next(iter, entry, err);
	*have = r > 0;
	return r < 0 ? r : 0;
}

int treepair_next(
	struct treepair *pair, const struct entry **a, const struct entry **b, struct err *err)
{
	for (;;) {
		int r = 0;

		if (!pair->have_a && !pair->have_b)
			r = treeiter_skip_equal(&pair->a, &pair->b, err);
		if (r >= 0)
			r = fetch_entry(&pair->a, &pair->entry_a, &pair->have_a, err);
		if (r >= 0)
			r = fetch_entry(&pair->b, &pair->entry_b, &pair->have_b, err);
		if (r < 0)
			return r;
		if (!pair->have_a && !pair->have_b)
			return 0;
		int order = !pair->have_a   ? 1
			    : !pair->have_b ? -1
					    : str_cmp(pair->entry_a.name, pair->entry_b.name);
		if (order == 0 && entry_same(&pair->entry_a, &pair->entry_b)) {
			pair->have_a = pair->have_b = false;
			continue;
		}
		*a = order <= 0 ? &pair->entry_a : NULL;
		*b = order >= 0 ? &pair->entry_b : NULL;
		if (*a)
			pair->have_a = false;
		if (*b)
			pair->have_b = false;
		return 1;
	}
}
