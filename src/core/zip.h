/*
 * zip - zstd compression of single objects.  The only file that knows zstd.
 *
 * Contexts are per thread and kept, since making one costs more than most
 * objects; zip_thread_end gives them back before a thread ends.
 */
#pragma once
#include <stddef.h>

#include "core/err.h"

/* Room zip_compress may need for len bytes. */
size_t zip_bound(size_t len);
/* Compressed length, or 0 when that would not be smaller than len by at least 1/16. */
size_t zip_compress(void *out, size_t room, const void *bytes, size_t len);
/* Expand to exactly len bytes, else ERR_CORRUPT. */
int zip_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err);
void zip_thread_end(void);
