/*
 * subvolume - subvolumes of btrfs.  Only subvolume.c uses libbtrfsutil.
 *
 * The functions need privileges only where the kernel requires them.  libbtrfsutil sometimes tries
 * a privileged call first, which fails for root of a user namespace.  In such cases subvolume.c
 * calls the ioctl itself.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define SUBVOLUME_UUID 16
/* inode number of every subvolume's top directory, and of no other file */
#define SUBVOLUME_INO 256

/*
 * The state of a subvolume.  Every change gets the number of the transaction that is running.  Data
 * that is only in memory gets the number of the transaction that writes it to disk.
 *
 *	generation  the last committed transaction with a change.  A change that comes after
 *	            this number was read gets a greater number.
 *	changed     the last transaction with a change, committed or not.  Making a snapshot
 *	            of the subvolume changes 'generation', but not 'changed'.
 */
struct subvolume {
	uint8_t uuid[SUBVOLUME_UUID];
	uint64_t generation;
	uint64_t changed;
};

/* Whether fd is the top directory of a subvolume. */
bool subvolume_is(int fd);
int subvolume_look(int fd, struct subvolume *subvolume, struct err *err);
/*
 * List the inodes that have changed after the given generation, in ascending order.  The caller
 * frees the list.  The function fails if too many inodes have changed, or if the kernel allows only
 * root to list them.
 */
int subvolume_changed(int fd, uint64_t since, uint64_t **inodes, size_t *n, struct err *err);
/*
 * Whether a subvolume contains other subvolumes, whose changes are not part of its state.  Returns
 * 1, 0 or a negative error.
 */
int subvolume_nested(int fd, struct err *err);

/* If fd is a read-only subvolume, make it writable.  Otherwise do nothing. */
int subvolume_make_writable(int fd, struct err *err);
int subvolume_make(int dirfd, const char *name, struct err *err);
/* Make a writable snapshot of fd.  The snapshot is durable when the function returns. */
int subvolume_snapshot(int fd, int dirfd, const char *name, struct err *err);
int subvolume_delete(int dirfd, const char *name, struct err *err);
