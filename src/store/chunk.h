/*
 * chunk - where to cut a large file so that a small edit moves few cuts.
 *
 * Content-defined chunking with a gear hash: a cut falls where the rolling hash of the last bytes
 * has its top bits zero, at least CHUNK_MIN and at most CHUNK_MAX after the previous cut.  Two
 * masks pull sizes towards the average. The table is generated from a constant.  It is part of the
 * format: with another table the same file would be cut, and so named, differently.
 */
#pragma once
#include <stddef.h>

#define CHUNK_WHOLE ((size_t)1 << 20) /* files up to this size are one blob */
#define CHUNK_MIN ((size_t)256 << 10)
#define CHUNK_AVERAGE ((size_t)1 << 20)
#define CHUNK_MAX ((size_t)4 << 20)

/* Length of the first chunk of bytes; needs CHUNK_MAX bytes unless the file ends before. */
size_t chunk_cut(const void *bytes, size_t len);
