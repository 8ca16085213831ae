/*
 * keytable - a hash table from 64-bit hashes to numbers.
 *
 * A struct of zeros is an empty table.  The hashes 0 and 1 count as the same key.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keytable {
	struct keytable_slot {
		uint64_t key; /* 0: the slot is empty */
		uint32_t value;
	} * slots;
	size_t cap, count;
};

/*
 * Returns a pointer to the number of a key.  The pointer is valid until the next call.  A key that
 * is not in the table is added with the number 'fresh'.  *made becomes true if the key was added.
 */
uint32_t *keytable_at(struct keytable *table, uint64_t key, uint32_t fresh, bool *made);
bool keytable_has(const struct keytable *table, uint64_t key);
void keytable_release(struct keytable *table);
