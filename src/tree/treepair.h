/*
 * treepair - walks two directories side by side, by name, and skips equal entries.
 */
#pragma once
#include "tree/treeiter.h"

struct treepair {
	struct treeiter a, b;
	struct entry entry_a, entry_b;
	bool have_a, have_b;
};

struct treepair *treepair_new(struct store *store);
void treepair_freep(struct treepair **pair);
/* Begin to compare the directories a and b.  NULL stands for a directory that does not exist. */
int treepair_open(
	struct treepair *pair, const struct entry *a, const struct entry *b, struct err *err);
/*
 * Find the next name that differs.  Returns 1, or 0 if there is none left, or a negative error.  *a
 * and *b are the entries of that name, valid until the next call.  If only one directory has the
 * name, the entry of the other directory is NULL.
 */
int treepair_next(
	struct treepair *pair, const struct entry **a, const struct entry **b, struct err *err);
