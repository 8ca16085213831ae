/*
 * subvolume - subvolumes of btrfs.  The only file that knows libbtrfsutil.
 *
 * What needs no privilege in the kernel needs none here: where libbtrfsutil asks
 * root's way first, which root of a user namespace may not go, the ioctl is called.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define SUBVOLUME_UUID 16
#define SUBVOLUME_INO 256 /* of the top of every subvolume, and of nothing else on btrfs */

/*
 * Where a subvolume is.  A change has the number of the transaction it reaches
 * the subvolume in: the one that runs, or, of data that is only in memory, the
 * one it is written out in.
 *
 *	generation  the last one committed with a change.  It takes no more: what
 *	            comes after this was looked up gets a later one.
 *	changed     the last one with a change, committed or not.  A snapshot
 *	            that is made of the subvolume moves generation, but not this.
 */
struct subvolume {
	uint8_t uuid[SUBVOLUME_UUID];
	uint64_t generation;
	uint64_t changed;
};

/* Whether fd is the top of one. */
bool subvolume_is(int fd);
int subvolume_look(int fd, struct subvolume *subvolume, struct err *err);
/*
 * The inodes that changed after a generation, in order; memory that is the
 * caller's.  Negative where only root may ask, or when there are too many.
 */
int subvolume_changed(int fd, uint64_t since, uint64_t **inodes, size_t *n, struct err *err);
/* Whether there are others in it, of which it says nothing: 1, 0 or negative. */
int subvolume_nested(int fd, struct err *err);

/* Take back that a subvolume was made read-only; nothing to do for any other directory. */
int subvolume_make_writable(int fd, struct err *err);
int subvolume_make(int dirfd, const char *name, struct err *err);
/* A writable snapshot of fd; durable when it returns. */
int subvolume_snapshot(int fd, int dirfd, const char *name, struct err *err);
int subvolume_delete(int dirfd, const char *name, struct err *err);
/* Of one that was made read-only; does nothing where that is not for us to change. */
void subvolume_allow_writes(int fd);
