/*
 * btrfsquota - how many bytes each subvolume of a btrfs file system holds.
 *
 * The kernel counts these bytes only while quotas are on ('btrfs quota enable'), and tells the
 * counts only to root.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct btrfsquota {
	struct btrfsquota_usage {
		uint64_t id;    /* id of the subvolume */
		uint64_t refer; /* bytes of all its data */
		uint64_t used;  /* bytes that no other subvolume has */
	} * list;               /* sorted by id */
	size_t n, cap;
};

/*
 * Read the counts of the file system that fd is on.  The list stays empty if the counts are unknown
 * or not correct at present.
 */
void btrfsquota_read(struct btrfsquota *quota, int fd);
const struct btrfsquota_usage *btrfsquota_get(const struct btrfsquota *quota, uint64_t id);
void btrfsquota_release(struct btrfsquota *quota);
