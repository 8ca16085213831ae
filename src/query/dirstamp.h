/*
 * dirstamp - shows whether a directory has changed since its entries were listed.
 *
 * The stamp is taken before the entries are listed.  A later stamp that is the same means that the
 * list is still valid.  There is one exception: two changes shortly after each other may leave the
 * same times.  dirstamp_is_settled excludes this case.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct dirstamp {
	bool known; /* false: the attributes of the directory could not be read */
	uint64_t inode;
	uint32_t links;
	int64_t mtime;
	int64_t changed; /* the ctime, or the mtime if the ctime is left out */
	int64_t taken;   /* time at which the stamp was taken, by the clock that sets file times */
};

/*
 * Programs can set the mtime of an ordinary directory to any value, but not its ctime.  The mtime
 * of .zfs/snapshot is enough, since ZFS sets it whenever a snapshot is made or destroyed.
 */
enum dirstamp_times {
	DIRSTAMP_BOTH,
	DIRSTAMP_MTIME,
};

/* Returns the stamp of a directory whose attributes were read just now. */
struct dirstamp dirstamp_of(const struct statx *stx, enum dirstamp_times times);
/* Whether two stamps are the same.  An unknown stamp differs from every stamp. */
bool dirstamp_is_same(const struct dirstamp *a, const struct dirstamp *b);
/*
 * Whether every later change of the directory gives another stamp.  This is so if the last change
 * was long enough before the stamp was taken.
 */
bool dirstamp_is_settled(const struct dirstamp *stamp);
