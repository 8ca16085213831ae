/*
 * pqsnappy - raw Snappy compression for Parquet.  Only pqsnappy.c uses libsnappy.
 *
 * A raw Snappy block begins with the length of the whole content as a varint.  Then come fragments,
 * which do not refer to each other.  So a block can be made in pieces if the length is known
 * beforehand: with pqsnappy_begin, and then pqsnappy_piece for each piece.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define PQSNAPPY_BEGIN_MAX 5
/*
 * Number of bytes of a fragment.  If a content is passed in pieces whose length is a multiple of
 * this number, the result is as small as with a single piece.
 */
#define PQSNAPPY_FRAGMENT ((size_t)64 << 10)
/* maximum ratio of expansion: three bytes of a block expand to at most 64 */
#define SNAP_RATIO_MAX 22

/*
 * Returns the maximum size of the result of pqsnappy_piece for len bytes.  A whole block for len
 * bytes does not exceed this size either.
 */
size_t pqsnappy_bound(size_t len);
/* Write the beginning of a block for len bytes.  Returns the length of this beginning. */
size_t pqsnappy_begin(uint8_t out[PQSNAPPY_BEGIN_MAX], uint32_t len);
/* Compress bytes to fragments of a block.  Returns the length of the fragments. */
size_t pqsnappy_piece(void *out, size_t room, const void *bytes, size_t len);
/*
 * Expand a block of 'stored' bytes to exactly len bytes.  Returns ERR_CORRUPT if that is not
 * possible.
 */
int pqsnappy_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err);
