/*
 * shifted - extended attributes that hold ids, for a view of a tree whose ids are moved.
 *
 * Seen from outside, through the mounts of a sandbox with ids of its own (sandbox/ids.h), a file of
 * id N belongs to FIRST + N.  The ids in its access control lists and the root id of its
 * capabilities are moved likewise.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

/* The value to set in the view for an attribute that has this value in the tree; may use room. */
struct str shifted_value(struct str name, struct str value, uint32_t first, struct buf *room);
