/*
 * zip - zstd compression of single objects, and of streams.  The only file that
 * knows zstd.
 *
 * Contexts for objects are per thread and kept, since making one costs more than
 * most objects; zip_thread_end gives them back before a thread ends.  A stream
 * has a context of its own.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* Room zip_compress may need for len bytes. */
size_t zip_bound(size_t len);
/* Compressed length, or 0 when that would not be smaller than len by at least 1/16. */
size_t zip_compress(void *out, size_t room, const void *bytes, size_t len);
/* Expand to exactly len bytes, else ERR_CORRUPT. */
int zip_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err);
void zip_thread_end(void);

/* --- frames made and read in pieces --- */

#define ZIP_WINDOW_MAX_LOG 23 /* memory a frame may ask for when it is read: 8 MiB */

struct zip_out;
struct zip_out *zip_out_new(void);
/* Start a frame of len bytes, giving up one under way. */
int zip_out_begin(struct zip_out *zip, uint64_t len, struct err *err);
/* What the frame has grown by is appended to out. */
int zip_out_add(
	struct zip_out *zip, const void *bytes, size_t len, struct buf *out, struct err *err);
/* ERR_INVALID unless the pieces add up to the length begun with. */
int zip_out_end(struct zip_out *zip, struct buf *out, struct err *err);
void zip_out_free(struct zip_out *zip);

struct zip_in;
struct zip_in *zip_in_new(void);
/*
 * The next piece of a frame; what it expands to goes to sink, whose negative result is
 * returned.  1: the frame is whole.  Bytes after its end are ERR_CORRUPT.
 */
int zip_in_add(struct zip_in *zip, const void *bytes, size_t len,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
void zip_in_free(struct zip_in *zip);
void zip_in_freep(struct zip_in **zip);
