/*
 * dirstamp - shows whether a directory has changed since its entries were listed.
 *
 * The caller must take the stamp before it lists the entries.  A later stamp that is the same means
 * that the list is still valid.  There is one exception: if the directory changes twice within a
 * short time, its times may be the same after both changes.  dirstamp_is_settled excludes this
 * case.
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
 * Which times a stamp has.  The stamp of an ordinary directory needs the ctime, too, since programs
 * can set the mtime to any value.  For .zfs/snapshot the mtime is enough, since ZFS sets it
 * whenever a snapshot is made or destroyed.
 */
enum dirstamp_times {
	DIRSTAMP_BOTH,
	DIRSTAMP_MTIME,
};

/* Returns the stamp of a directory.  The caller must have read its attributes, *stx, just now. */
struct dirstamp dirstamp_of(const struct statx *stx, enum dirstamp_times times);
/* Whether two stamps are the same.  An unknown stamp differs from every stamp. */
bool dirstamp_is_same(const struct dirstamp *a, const struct dirstamp *b);
/*
 * Whether every later change of the directory gives another stamp.  This is so if the last change
 * was long enough before the stamp was taken.
 */
bool dirstamp_is_settled(const struct dirstamp *stamp);
