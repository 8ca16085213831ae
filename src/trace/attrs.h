/*
 * attrs - the extended attributes of a file as a list, sorted by name: a file system gives them
 * in the order in which they were set, say, and that is no part of a file's state.
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
/* Of sorted lists: whether they have the same names and values. */
bool attrs_same(const struct attr *a, size_t n_a, const struct attr *b, size_t n_b);
