/*
 * chunk - decides where a large file is cut into chunks, so that a small edit changes few cuts.
 *
 * The cuts depend on the content.  A gear hash is a rolling hash of the bytes that were read last.
 * A cut is made where the top bits of this hash are zeros.  The distance between two cuts is at
 * least CHUNK_MIN and at most CHUNK_MAX bytes.  More zero bits are needed before the average size
 * than after that size, so sizes stay near the average.
 *
 * The table of the hash is generated from a constant.  The table is part of the format: another
 * table would cut the same file at other places, and so change the hash of the file.
 */
#pragma once
#include <stddef.h>

/* a file of up to this many bytes is one blob and is not cut */
#define CHUNK_WHOLE ((size_t)1 << 20)
#define CHUNK_MIN ((size_t)256 << 10)
#define CHUNK_AVERAGE ((size_t)1 << 20)
#define CHUNK_MAX ((size_t)4 << 20)

/*
 * Returns the length of the first chunk.  The parameter 'bytes' points to the next CHUNK_MAX bytes
 * of a file, or to all remaining bytes.
 */
size_t chunk_cut(const void *bytes, size_t len);
