#include "tree/applied.h"

#include <stdlib.h>

#include "core/mem.h"

#define SECOND INT64_C(1000000000)

int64_t applied_ctime(const struct statx *stx)
{
	return stx->stx_ctime.tv_sec * SECOND + stx->stx_ctime.tv_nsec;
}

void applied_note(struct applied *applied, const struct statx *now, int64_t before, unsigned lacks)
{
	pthread_mutex_lock(&applied->lock);
	mem_grow(&applied->list, &applied->cap, applied->n);
	applied->list[applied->n] = (struct applied_inode){
		.ino = now->stx_ino,
		.before = before,
		.after = applied_ctime(now),
		.number = (uint32_t)applied->n,
		.lacks = lacks,
	};
	applied->n++;
	pthread_mutex_unlock(&applied->lock);
}

static int compare_notes(const void *a, const void *b)
{
	const struct applied_inode *one = a, *other = b;

	if (one->ino != other->ino)
		return one->ino < other->ino ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* Join two notes about the same inode.  A file with several names has one note for each name. */
static void join_notes(struct applied_inode *first, const struct applied_inode *next)
{
	first->after = next->before == first->after ? next->after : 0;
	first->lacks |= next->lacks;
}

void applied_sort(struct applied *applied)
{
	size_t kept = 0;

	if (applied->n)
		qsort(applied->list, applied->n, sizeof(*applied->list), compare_notes);
	for (size_t i = 0; i < applied->n; i++) {
		struct applied_inode *last = kept ? &applied->list[kept - 1] : NULL;

		if (last && last->ino == applied->list[i].ino)
			join_notes(last, &applied->list[i]);
		else
			applied->list[kept++] = applied->list[i];
	}
	applied->n = kept;
}

static int compare_ino(const void *key, const void *item)
{
	uint64_t ino = *(const uint64_t *)key, other = ((const struct applied_inode *)item)->ino;

	return ino < other ? -1 : ino > other;
}

const struct applied_inode *applied_find(const struct applied *applied, uint64_t ino)
{
	return applied->n ? bsearch(&ino, applied->list, applied->n, sizeof(*applied->list),
				    compare_ino)
			  : NULL;
}

void applied_release(struct applied *applied)
{
	free(applied->list);
	applied->list = NULL;
	applied->n = applied->cap = 0;
}
