#include "trace/bundle/attrs.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct attr *)a)->name, ((const struct attr *)b)->name);
}

void attrs_sort(struct attr *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), compare_names);
}

bool attrs_same(const struct attr *a, size_t n_a, const struct attr *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (compare_names(&a[i], &b[i]) != 0 || !str_eq(a[i].value, b[i].value))
			return false;
	return true;
}
