/*
 * shifted - adapts extended attributes that hold ids to a mount in which ids are moved.
 *
 * A sandbox with ids of its own (sandbox/ids.h) has such mounts: seen through them from outside, a
 * file of id N belongs to FIRST + N.  The ids in its access control lists and the root id of its
 * capabilities are moved in the same way.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

/*
 * Returns the value to set through the mount for the attribute name, which has 'value' in the tree.
 * 'first' is FIRST; 0: ids are not moved.  The result may be in room.
 */
struct str shifted_value(struct str name, struct str value, uint32_t first, struct buf *room);
