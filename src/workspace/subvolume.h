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

/*
 * Where a subvolume stands.  A change reaches the subvolume in the transaction
 * that runs then, or in a later one: what was only written to memory, when it is
 * written out.  generation is the last transaction that was committed with one,
 * and takes no more; so a change that comes after it was looked up gets a later
 * one.  changed is the last transaction that has one, committed or not, other
 * than by making a snapshot of the subvolume, which counts for generation.
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

int subvolume_make(int dirfd, const char *name, struct err *err);
/* A writable snapshot of fd; durable when it returns. */
int subvolume_snapshot(int fd, int dirfd, const char *name, struct err *err);
int subvolume_delete(int dirfd, const char *name, struct err *err);
