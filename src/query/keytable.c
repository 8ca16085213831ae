#include "query/keytable.h"

#include <stdlib.h>

#include "core/mem.h"

/* Returns the slot of the key, or the empty slot where the key belongs. */
static struct keytable_slot *find_slot(const struct keytable *table, uint64_t key)
{
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (table->cap - 1);

	while (table->slots[i].key && table->slots[i].key != key)
		i = (i + 1) & (table->cap - 1);
	return &table->slots[i];
}

static void grow(struct keytable *table)
{
	struct keytable old = *table;

	table->cap = old.cap ? 2 * old.cap : 1024;
	table->slots = mem_zalloc(table->cap * sizeof(*table->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].key)
			*find_slot(table, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint32_t *keytable_at(struct keytable *table, uint64_t key, uint32_t fresh, bool *made)
{
	if (2 * (table->count + 1) > table->cap)
		grow(table);
	struct keytable_slot *slot = find_slot(table, key ?: 1);

	*made = !slot->key;
	if (*made) {
		*slot = (struct keytable_slot){ key ?: 1, fresh };
		table->count++;
	}
	return &slot->value;
}

bool keytable_has(const struct keytable *table, uint64_t key)
{
	return table->cap && find_slot(table, key ?: 1)->key;
}

void keytable_release(struct keytable *table)
{
	free(table->slots);
}
