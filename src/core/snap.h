/*
 * snap - raw Snappy compression, as Parquet has it.  The only file that knows libsnappy.
 *
 * A raw Snappy block is the length of the whole as a varint and then fragments
 * that do not refer to each other, so a block can be made in pieces by whoever
 * knows the length beforehand: snap_begin, then snap_piece for each piece.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define SNAP_BEGIN_MAX 5
#define SNAP_FRAGMENT ((size_t)64 << 10) /* pieces of a multiple of this lose nothing */
#define SNAP_RATIO_MAX 22                /* no three bytes of a block stand for more than 64 */

/* Room snap_piece may need for len bytes; no block of len bytes is longer. */
size_t snap_bound(size_t len);
/* What a block of len bytes begins with; its length. */
size_t snap_begin(uint8_t out[SNAP_BEGIN_MAX], uint32_t len);
/* The fragments of some bytes; their length. */
size_t snap_piece(void *out, size_t room, const void *bytes, size_t len);
/* Expand a block to exactly len bytes, else ERR_CORRUPT. */
int snap_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err);
