/*
 * shifted - converts extended attributes that contain ids, for a mount that moves ids.
 *
 * A sandbox with ids of its own (sandbox/ids.h) has such mounts.  If a file belongs to the id N on
 * disk, the host sees the id IDS_FIRST + N in the mount.  The ids in access control lists, and the
 * root id of file capabilities, are moved in the same way.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

/*
 * Returns the value that must be set through the mount for the attribute called 'name'.  'value' is
 * the value in the tree.  'first' is IDS_FIRST, or 0 if ids are not moved.  The result is either
 * 'value' itself or in the buffer 'room'.
 */
struct str shifted_value(struct str name, struct str value, uint32_t first, struct buf *room);
