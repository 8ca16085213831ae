/*
 * zstd - zstd compression of single objects, and of streams.  The only file that knows zstd.
 *
 * Contexts for objects are per thread and kept, since making one costs more than most objects;
 * zstd_thread_end gives them back before a thread ends.  A stream has a context of its own.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* Room zstd_compress may need for len bytes. */
size_t zstd_bound(size_t len);
/* Compressed length, or 0 when that would not be smaller than len by at least 1/16. */
size_t zstd_compress(void *out, size_t room, const void *bytes, size_t len);
/* Expand to exactly len bytes, else ERR_CORRUPT. */
int zstd_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err);
void zstd_thread_end(void);

/* --- frames made and read in pieces --- */

#define ZSTD_READ_WINDOW_LOG 23 /* memory a frame may need when it is read: 8 MiB */

struct zstd_out;
struct zstd_out *zstd_out_new(void);
/* Start a frame of len bytes, giving up one under way. */
int zstd_out_begin(struct zstd_out *stream, uint64_t len, struct err *err);
/* Append the new bytes of the frame to out. */
int zstd_out_add(
	struct zstd_out *stream, const void *bytes, size_t len, struct buf *out, struct err *err);
/* ERR_INVALID unless the pieces add up to the length begun with. */
int zstd_out_end(struct zstd_out *stream, struct buf *out, struct err *err);
void zstd_out_free(struct zstd_out *stream);

struct zstd_in;
struct zstd_in *zstd_in_new(void);
/*
 * Add the next piece of a frame; the expanded bytes go to sink, whose negative result is returned.
 * 1: the frame is complete.  Bytes after its end are ERR_CORRUPT.
 */
int zstd_in_add(struct zstd_in *stream, const void *bytes, size_t len,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
void zstd_in_free(struct zstd_in *stream);
void zstd_in_freep(struct zstd_in **stream);
