#include "query/dirstamp.h"

#include "core/when.h"

/*
 * If a directory changes twice within this time, its mtime and ctime may be the same after both
 * changes, since some file systems store no fractions of a second.
 */
#define GRAIN (2 * WHEN_SECOND)

struct dirstamp dirstamp_of(const struct statx *stx, enum dirstamp_times times)
{
	int64_t mtime = when_of(stx->stx_mtime.tv_sec, stx->stx_mtime.tv_nsec);
	int64_t ctime = when_of(stx->stx_ctime.tv_sec, stx->stx_ctime.tv_nsec);

	return (struct dirstamp){
		.known = true,
		.inode = stx->stx_ino,
		.links = stx->stx_nlink,
		.mtime = mtime,
		.changed = times == DIRSTAMP_BOTH ? ctime : mtime,
		.taken = when_coarse(),
	};
}

bool dirstamp_is_same(const struct dirstamp *a, const struct dirstamp *b)
{
	return a->known && b->known && a->inode == b->inode && a->links == b->links &&
	       a->mtime == b->mtime && a->changed == b->changed;
}

bool dirstamp_is_settled(const struct dirstamp *stamp)
{
	return stamp->known && stamp->changed < stamp->taken - GRAIN;
}
