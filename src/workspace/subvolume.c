#include "workspace/subvolume.h"

#include <btrfsutil.h>
#include <endian.h>
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/mem.h"
#include "core/own.h"

/* size of the buffer: it has room for many results, and also for the largest single result */
#define SEARCH_BYTES ((size_t)256 << 10)
/* maximum number of changed inodes in a list; if more have changed, a walk is cheaper */
#define CHANGED_MAX 1000000

bool subvolume_is(int fd)
{
	return btrfs_util_is_subvolume_fd(fd) == BTRFS_UTIL_OK;
}

int subvolume_look(int fd, struct subvolume *subvolume, struct err *err)
{
	struct btrfs_ioctl_get_subvol_info_args info = { 0 };

	if (ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &info) < 0)
		return err_errno(err, "look up a subvolume");
	memcpy(subvolume->uuid, info.uuid, SUBVOLUME_UUID);
	subvolume->generation = info.generation;
	subvolume->changed = info.ctransid;
	return 0;
}

/*
 * Collect the changed inodes in the result of one search.  The next search starts after the last
 * inode in the result.
 */
static void collect_changed(struct btrfs_ioctl_search_args_v2 *search, uint64_t since,
	uint64_t **inodes, size_t *n, size_t *cap)
{
	const char *at = (const char *)search->buf;
	struct btrfs_ioctl_search_header header;
	struct btrfs_inode_item item;

	for (uint32_t i = 0; i < search->key.nr_items; i++, at += header.len) {
		memcpy(&header, at, sizeof(header));
		at += sizeof(header);
		/*
		 * Only the first item of each inode is needed, so the next search skips its other
		 * items.
		 */
		search->key.min_objectid = header.objectid + 1;
		if (header.type != BTRFS_INODE_ITEM_KEY || header.len < sizeof(item))
			continue;
		memcpy(&item, at, sizeof(item));
		if (le64toh(item.transid) <= since)
			continue;
		mem_grow(inodes, cap, *n);
		(*inodes)[(*n)++] = header.objectid;
	}
}

int subvolume_changed(int fd, uint64_t since, uint64_t **inodes, size_t *n, struct err *err)
{
	owned_mem struct btrfs_ioctl_search_args_v2 *search =
		mem_zalloc(sizeof(*search) + SEARCH_BYTES);
	owned_mem uint64_t *list = NULL;
	size_t count = 0, cap = 0;

	search->buf_size = SEARCH_BYTES;
	search->key = (struct btrfs_ioctl_search_key){
		.min_objectid = BTRFS_FIRST_FREE_OBJECTID,
		.max_objectid = BTRFS_LAST_FREE_OBJECTID,
		.max_type = UINT8_MAX,
		.max_offset = UINT64_MAX,
		.min_transid = since + 1,
		.max_transid = UINT64_MAX,
	};
	do {
		search->key.nr_items = UINT32_MAX;
		if (ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, search) < 0)
			return err_errno(err, "search a subvolume");
		collect_changed(search, since, &list, &count, &cap);
		if (count > CHANGED_MAX)
			return err_set(err, ERR_LIMIT, "more than %d changed files", CHANGED_MAX);
	} while (search->key.nr_items);
	*inodes = take_ptr(&list);
	*n = count;
	return 0;
}

int subvolume_nested(int fd, struct err *err)
{
	struct btrfs_ioctl_get_subvol_rootref_args children = { 0 };

	/* EOVERFLOW means that more subvolumes exist than fit into the answer. */
	if (ioctl(fd, BTRFS_IOC_GET_SUBVOL_ROOTREF, &children) < 0 && errno != EOVERFLOW)
		return err_errno(err, "list the subvolumes in a subvolume");
	return children.num_items > 0;
}

int subvolume_make_writable(int fd, struct err *err)
{
	uint64_t flags = 0;

	if (!subvolume_is(fd))
		return 0;
	if (ioctl(fd, BTRFS_IOC_SUBVOL_GETFLAGS, &flags) < 0)
		return err_errno(err, "see whether a subvolume is read-only");
	if (!(flags & BTRFS_SUBVOL_RDONLY))
		return 0;
	flags &= ~(uint64_t)BTRFS_SUBVOL_RDONLY;
	return ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags) < 0
		       ? err_errno(err, "make a read-only subvolume writable")
		       : 0;
}

int subvolume_make(int dirfd, const char *name, struct err *err)
{
	if (btrfs_util_create_subvolume_fd(dirfd, name, 0, NULL, NULL) != BTRFS_UTIL_OK)
		return err_errno(err, "make subvolume '%s'", name);
	return 0;
}

int subvolume_snapshot(int fd, int dirfd, const char *name, struct err *err)
{
	if (btrfs_util_create_snapshot_fd2(fd, dirfd, name, 0, NULL, NULL) != BTRFS_UTIL_OK)
		return err_errno(err, "make snapshot '%s'", name);
	return 0;
}

int subvolume_delete(int dirfd, const char *name, struct err *err)
{
	if (btrfs_util_delete_subvolume_fd(dirfd, name, 0) != BTRFS_UTIL_OK)
		return err_errno(err, "delete subvolume '%s'", name);
	return 0;
}
