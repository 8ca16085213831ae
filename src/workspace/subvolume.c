#include "workspace/subvolume.h"

#include <btrfsutil.h>
#include <errno.h>
#include <linux/btrfs.h>
#include <string.h>
#include <sys/ioctl.h>

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

int subvolume_nested(int fd, struct err *err)
{
	struct btrfs_ioctl_get_subvol_rootref_args children = { 0 };

	/* EOVERFLOW: there are more than it could tell of. */
	if (ioctl(fd, BTRFS_IOC_GET_SUBVOL_ROOTREF, &children) < 0 && errno != EOVERFLOW)
		return err_errno(err, "list the subvolumes in a subvolume");
	return children.num_items > 0;
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
