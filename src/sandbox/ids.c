#include "sandbox/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/at.h"

/* a file that always belongs to root of the machine */
#define OF_THE_MACHINE "/proc/sys/kernel/ostype"

int ids_map_mount(int dir, const char *name, int userns)
{
	struct mount_attr map = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns };
	int r = mount_setattr(dir, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, &map, sizeof(map));

	return r < 0 ? -errno : 0;
}

bool ids_are_the_machines(void)
{
	struct statx stx;

	/*
	 * In a user namespace without an id for root of the machine, the file belongs to nobody.
	 * If stat fails, assume that this process has the id of the machine's root.
	 */
	return at_abs_stat(OF_THE_MACHINE, &stx) < 0 || stx.stx_uid == 0;
}
