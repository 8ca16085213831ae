#include "query/btrfsquota.h"

#include <endian.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/mem.h"
#include "core/own.h"

#define SEARCH_BYTES ((size_t)64 << 10)
#define SUBVOLUMES_MAX 400000
#define LEVEL_SHIFT 48 /* id >> LEVEL_SHIFT is the level of a quota group; 0: a subvolume */
/* Flags of the status item.  Debian 12's headers lack the last flag (Linux 6.7). */
#define STATUS_ON (1u << 0)
#define STATUS_RESCAN (1u << 1)
#define STATUS_INCONSISTENT (1u << 2)
#define STATUS_SIMPLE (1u << 3)

/* Whether a status item shows that the counts are complete and include shared data. */
static bool is_correct(const char *item, size_t len)
{
	struct btrfs_qgroup_status_item status;

	if (len < sizeof(status))
		return false;
	memcpy(&status, item, sizeof(status));
	uint64_t flags = le64toh(status.flags);
	return flags & STATUS_ON &&
	       !(flags & (STATUS_RESCAN | STATUS_INCONSISTENT | STATUS_SIMPLE));
}

static void add_usage(struct btrfsquota *quota, uint64_t id, const char *bytes)
{
	struct btrfs_qgroup_info_item item;

	memcpy(&item, bytes, sizeof(item));
	mem_grow(&quota->list, &quota->cap, quota->n);
	quota->list[quota->n++] = (struct btrfsquota_usage){
		.id = id,
		.refer = le64toh(item.rfer),
		.used = le64toh(item.excl),
	};
}

/*
 * Read the items that a search has found, and set *search so that the next search begins behind the
 * last item.  Returns false if the counts cannot be used.
 */
static bool read_items(struct btrfsquota *quota, struct btrfs_ioctl_search_args_v2 *search)
{
	const char *at = (const char *)search->buf;
	struct btrfs_ioctl_search_header header;

	for (uint32_t i = 0; i < search->key.nr_items; i++, at += header.len) {
		memcpy(&header, at, sizeof(header));
		at += sizeof(header);
		search->key.min_type = header.type;
		search->key.min_offset = header.offset + 1;
		if (header.type == BTRFS_QGROUP_STATUS_KEY && !is_correct(at, header.len))
			return false;
		if (header.type == BTRFS_QGROUP_INFO_KEY && !(header.offset >> LEVEL_SHIFT) &&
			header.len >= sizeof(struct btrfs_qgroup_info_item))
			add_usage(quota, header.offset, at);
	}
	return quota->n <= SUBVOLUMES_MAX;
}

void btrfsquota_read(struct btrfsquota *quota, int fd)
{
	owned_mem struct btrfs_ioctl_search_args_v2 *search =
		mem_zalloc(sizeof(*search) + SEARCH_BYTES);
	bool good = true;

	search->buf_size = SEARCH_BYTES;
	search->key = (struct btrfs_ioctl_search_key){
		.tree_id = BTRFS_QUOTA_TREE_OBJECTID,
		.min_type = BTRFS_QGROUP_STATUS_KEY,
		.max_type = BTRFS_QGROUP_INFO_KEY,
		.max_offset = UINT64_MAX,
		.max_transid = UINT64_MAX,
	};
	do {
		search->key.nr_items = UINT32_MAX;
		good = ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, search) >= 0 &&
		       read_items(quota, search);
	} while (good && search->key.nr_items);
	if (!good)
		btrfsquota_release(quota);
}

static int compare_usage(const void *a, const void *b)
{
	const struct btrfsquota_usage *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

const struct btrfsquota_usage *btrfsquota_get(const struct btrfsquota *quota, uint64_t id)
{
	struct btrfsquota_usage key = { .id = id };

	return quota->n ? bsearch(&key, quota->list, quota->n, sizeof(key), compare_usage) : NULL;
}

void btrfsquota_release(struct btrfsquota *quota)
{
	free(quota->list);
	*quota = (struct btrfsquota){ 0 };
}
