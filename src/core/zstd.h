/*
 * zstd - zstd compression of single objects, and of streams.  Only zstd.c uses the library.
 *
 * Each thread has contexts for single objects.  A thread keeps its contexts, since making a context
 * costs more than compressing most objects.  zstd_thread_end frees the contexts before the thread
 * ends.  A stream has a context of its own.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* Returns the maximum size of the result of zstd_compress for len bytes. */
size_t zstd_bound(size_t len);
/*
 * Compress len bytes into 'out', which has room for 'room' bytes.  Returns the compressed length.
 * Returns 0 if compression saves no more than 1/16 of len.
 */
size_t zstd_compress(void *out, size_t room, const void *bytes, size_t len);
/*
 * Expand compressed data of 'stored' bytes to exactly len bytes.  Returns ERR_CORRUPT if the data
 * is damaged.
 */
int zstd_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err);
void zstd_thread_end(void);

/* --- frames made and read in pieces --- */

#define ZSTD_READ_WINDOW_LOG 23 /* reading a frame may need 2^23 bytes (8 MiB) of memory */

struct zstd_out;
struct zstd_out *zstd_out_new(void);
/* Start a frame for len bytes.  A frame that was not ended is dropped. */
int zstd_out_begin(struct zstd_out *stream, uint64_t len, struct err *err);
/* Compress the next piece.  Bytes of the frame that are ready are appended to 'out'. */
int zstd_out_add(
	struct zstd_out *stream, const void *bytes, size_t len, struct buf *out, struct err *err);
/*
 * Append the rest of the frame to 'out'.  Returns ERR_INVALID if the sum of the pieces is not the
 * length that zstd_out_begin was given.
 */
int zstd_out_end(struct zstd_out *stream, struct buf *out, struct err *err);
void zstd_out_free(struct zstd_out *stream);

struct zstd_in;
struct zstd_in *zstd_in_new(void);
/*
 * Expand the next piece of a frame, and pass the expanded bytes to the function 'sink'.  A negative
 * result of 'sink' is returned.  Otherwise, the result is 1 when the frame is complete, and 0
 * before that.  If bytes follow the end of the frame, the result is ERR_CORRUPT.
 */
int zstd_in_add(struct zstd_in *stream, const void *bytes, size_t len,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
void zstd_in_free(struct zstd_in *stream);
void zstd_in_freep(struct zstd_in **stream);
