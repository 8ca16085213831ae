/*
 * pqsnappy - raw Snappy compression for Parquet.  The only file that knows libsnappy.
 *
 * A raw Snappy block is the length of the whole as a varint and then fragments that do not refer to
 * each other.  So a block can be made in pieces if the length is known beforehand: pqsnappy_begin,
 * then pqsnappy_piece for each.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define PQSNAPPY_BEGIN_MAX 5
/* pieces of a multiple of this compress as well as the whole */
#define PQSNAPPY_FRAGMENT ((size_t)64 << 10)
#define SNAP_RATIO_MAX 22 /* three bytes of a block stand for at most 64 */

/* Room pqsnappy_piece may need for len bytes; no block of len bytes is longer. */
size_t pqsnappy_bound(size_t len);
/* Write the beginning of a block of len bytes; returns its length. */
size_t pqsnappy_begin(uint8_t out[PQSNAPPY_BEGIN_MAX], uint32_t len);
/* Compress bytes to fragments; returns their length. */
size_t pqsnappy_piece(void *out, size_t room, const void *bytes, size_t len);
/* Expand a block to exactly len bytes, else ERR_CORRUPT. */
int pqsnappy_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err);
