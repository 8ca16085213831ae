/*
 * ids - the user and group ids that the kernel sees for programs in a sandbox of root.
 *
 * Kernel file systems such as sysfs and cgroup obey any process with the id of root of the machine,
 * in any user namespace.  If root inside had that id, it could mount them anew, and would have to
 * be kept from mounting anything (fence.h).  Hence root's sandboxes have ids of their own: id N
 * inside is IDS_FIRST + N to the kernel.  On disk a file of id N inside belongs to N, as without a
 * sandbox: the mounts of the tree map ids in both directions.
 *
 * The range is half of all ids, so that it holds every id a tree can reasonably have.  It is the
 * upper half, which is not used otherwise: subordinate ids of useradd end at 600,100,000, and those
 * of systemd's containers at 1,879,048,191.  No file on disk ever gets an id of the range.  A range
 * for root in /etc/subuid is not used, because it is too small for many trees.
 */
#pragma once
#include <stdbool.h>

#define IDS_FIRST 0x80000000U
#define IDS_COUNT 0x7fffffffU

/*
 * Set a mount that is not attached yet to map ids: a file that belongs to N on disk belongs to
 * IDS_FIRST + N in the mount.  userns is a user namespace with these ids.  name is "" or leads from
 * dir to the mount.  Returns -errno if the kernel or the file system cannot do that.
 */
int ids_map_mount(int dir, const char *name, int userns);

/* Whether our id 0 is that of root of the machine, who owns the kernel file systems. */
bool ids_are_the_machines(void);
