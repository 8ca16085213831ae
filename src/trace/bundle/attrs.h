/*
 * attrs - a list of extended attributes, sorted by name.  File systems list attributes in any
 * order, so two lists can be compared only after sorting.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

struct attr {
	const char *name;
	struct str value;
};

void attrs_sort(struct attr *list, size_t count);
/* Whether two sorted lists have the same names and values. */
bool attrs_same(const struct attr *a, size_t n_a, const struct attr *b, size_t n_b);
