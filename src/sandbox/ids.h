/*
 * ids - the user and group ids that the kernel sees for programs in a sandbox of root.
 *
 * Kernel file systems such as sysfs and cgroup obey any process with the id of the machine's root,
 * in any user namespace.  If root in a sandbox had that id, it could mount these file systems anew,
 * and would have to be kept from mounting anything (fence.h).  So root's sandboxes have ids of
 * their own: to the kernel, id N of the sandbox is IDS_FIRST + N.  On disk, a file of id N of the
 * sandbox belongs to N, as without a sandbox.  The mounts of the tree translate between the ids on
 * disk and those that the kernel sees.
 *
 * The range is half of all ids, so that it contains every id that a tree can reasonably have.  It
 * is the upper half, which nothing else uses: subordinate ids of useradd end at 600,100,000, and
 * those of systemd's containers at 1,879,048,191.  No file on disk ever gets an id of the range.  A
 * range for root in /etc/subuid is not used, because it is too small for many trees.
 */
#pragma once
#include <stdbool.h>

#define IDS_FIRST 0x80000000U
#define IDS_COUNT 0x7fffffffU

/*
 * Map the ids of a mount that is not attached yet: a file that belongs to N on disk then belongs to
 * IDS_FIRST + N in the mount.  'userns' is a user namespace with the ids of ids.h.  The path 'name'
 * leads from 'dir' to the mount; "" stands for 'dir' itself.  Returns -errno if the kernel or the
 * file system cannot map ids.
 */
int ids_map_mount(int dir, const char *name, int userns);

/* Whether id 0 of this process is that of the machine's root, who owns the kernel file systems. */
bool ids_are_the_machines(void);
