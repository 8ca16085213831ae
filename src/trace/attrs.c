#include "trace/attrs.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct attr *)a)->name, ((const struct attr *)b)->name);
}

void attrs_sort(struct attr *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), by_name);
}

bool attrs_same(const struct attr *a, size_t n_a, const struct attr *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (by_name(&a[i], &b[i]) != 0 || !str_eq(a[i].value, b[i].value))
			return false;
	return true;
}
