/*
 * ids - whose ids the inside of a sandbox of root has.
 *
 * Kernel file systems such as sysfs and cgroup obey whoever has the id of root of the machine, in
 * whatever user namespace.  So an inside whose root has that id could mount them anew, and must be
 * kept from mounting anything (fence.h).  Hence root's sandboxes have ids of their own: id N inside
 * is IDS_FIRST + N to the kernel.  Files keep their owners on disk, 0 is 0 there: the mounts of the
 * tree map them back and forth.
 *
 * The range is half of all ids, so that it holds every id a tree can reasonably have, and the half
 * that nobody else uses: what useradd gives away as subordinate ids ends at 600,100,000, what
 * systemd uses for containers at 1,879,048,191.  No file on disk ever gets one of them.  A range of
 * root's in /etc/subuid is not used: it is too small for many a tree.
 */
#pragma once
#include <stdbool.h>

#define IDS_FIRST 0x80000000U
#define IDS_COUNT 0x7fffffffU

/*
 * Have a mount map ids, before it is attached anywhere: a file of id N belongs to IDS_FIRST + N in
 * it.  userns is a user namespace with the ids above; name is "" or leads from dir to the mount.
 * Negative errno where the kernel or the file system cannot do that.
 */
int ids_map_mount(int dir, const char *name, int userns);

/* Whether our id 0 is that of root of the machine, to which kernel file systems belong. */
bool ids_are_the_machines(void);
