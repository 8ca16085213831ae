/* treepair - walk two directories side by side, by name, skipping what is equal. */
#pragma once
#include "tree/treeiter.h"

struct treepair {
	struct treeiter a, b;
	struct entry entry_a, entry_b;
	bool have_a, have_b;
};

struct treepair *treepair_new(struct store *store);
void treepair_freep(struct treepair **pair);
/* NULL stands for a directory that does not exist. */
int treepair_open(
	struct treepair *pair, const struct entry *a, const struct entry *b, struct err *err);
/*
 * The next name that differs: 1 with *a and *b until the next call, NULL where it lacks; 0 no more.
 */
int treepair_next(
	struct treepair *pair, const struct entry **a, const struct entry **b, struct err *err);
