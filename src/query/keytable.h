/*
 * keytable - a hash table from 64-bit hashes to numbers.  Zeroed memory is an empty table.
 * The hash 0 counts as 1.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keytable {
	struct keytable_slot {
		uint64_t key; /* 0: empty */
		uint32_t value;
	} * slots;
	size_t cap, count;
};

/* The number of key, valid until the next call; a new key gets the number fresh. */
uint32_t *keytable_at(struct keytable *table, uint64_t key, uint32_t fresh, bool *made);
bool keytable_has(const struct keytable *table, uint64_t key);
void keytable_release(struct keytable *table);
