/*
 * shifted - extended attributes that hold ids, for a view of a tree whose ids are moved.
 *
 * Seen from outside, through the mounts of a sandbox whose ids are not ours (sandbox/ids.h), a file
 * of id N belongs to FIRST + N, and so it is with the ids in its access control lists and with the
 * root that its capabilities are for.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

/* What to set there for an attribute that has this value in the tree. */
struct str shifted_value(struct str name, struct str value, uint32_t first, struct buf *room);
