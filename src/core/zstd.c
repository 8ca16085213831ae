#include "core/zstd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "core/mem.h"

/*
 * When files are stored at level 1, reading and hashing take most of the time.  Level 3 would save
 * about five percent more on source trees and take about twice the time.
 */
#define LEVEL 1

static _Thread_local ZSTD_CCtx *compressor;
static _Thread_local ZSTD_DCtx *expander;

size_t zstd_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

size_t zstd_compress(void *out, size_t room, const void *bytes, size_t len)
{
	if (!compressor)
		compressor = ZSTD_createCCtx();
	if (!compressor)
		return 0;
	size_t n = ZSTD_compressCCtx(compressor, out, room, bytes, len, LEVEL);
	if (ZSTD_isError(n) || n >= len - len / 16)
		return 0;
	return n;
}

int zstd_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err)
{
	if (!expander)
		expander = ZSTD_createDCtx();
	if (!expander)
		return err_set(err, ERR_LIMIT, "out of memory for decompression");
	size_t n = ZSTD_decompressDCtx(expander, out, len, bytes, stored);
	if (ZSTD_isError(n))
		return err_set(err, ERR_CORRUPT, "compressed data: %s", ZSTD_getErrorName(n));
	if (n != len)
		return err_set(err, ERR_CORRUPT, "compressed data is %zu bytes, not %zu", n, len);
	return 0;
}

void zstd_thread_end(void)
{
	ZSTD_freeCCtx(compressor);
	ZSTD_freeDCtx(expander);
	compressor = NULL;
	expander = NULL;
}

/* --- frames made and read in pieces --- */

struct zstd_out {
	ZSTD_CCtx *context;
};

struct zstd_in {
	ZSTD_DCtx *context;
	bool whole;
	size_t room;
	char out[];
};

struct zstd_out *zstd_out_new(void)
{
	struct zstd_out *stream = mem_zalloc(sizeof(*stream));

	stream->context = ZSTD_createCCtx();
	return stream;
}

int zstd_out_begin(struct zstd_out *stream, uint64_t len, struct err *err)
{
	if (!stream->context)
		return err_set(err, ERR_LIMIT, "out of memory for compression");
	(void)ZSTD_CCtx_reset(stream->context, ZSTD_reset_session_and_parameters);
	size_t level = ZSTD_CCtx_setParameter(stream->context, ZSTD_c_compressionLevel, LEVEL);
	size_t size = ZSTD_CCtx_setPledgedSrcSize(stream->context, len);
	if (ZSTD_isError(level) || ZSTD_isError(size))
		return err_set(err, ERR_INVALID, "compression of %llu bytes cannot be set up",
			(unsigned long long)len);
	return 0;
}

static int out_step(struct zstd_out *stream, ZSTD_inBuffer *in, ZSTD_EndDirective how,
	struct buf *out, struct err *err)
{
	ZSTD_outBuffer room = { .size = ZSTD_CStreamOutSize() };
	size_t left;

	do {
		room.dst = buf_reserve(out, room.size);
		room.pos = 0;
		if (!room.dst)
			return err_set(err, ERR_LIMIT, "compressed data is too large");
		left = ZSTD_compressStream2(stream->context, &room, in, how);
		if (ZSTD_isError(left))
			return err_set(err, ERR_INVALID, "compress: %s", ZSTD_getErrorName(left));
		out->len += room.pos;
		out->data[out->len] = '\0';
	} while (in->pos < in->size || (how == ZSTD_e_end && left));
	return 0;
}

int zstd_out_add(
	struct zstd_out *stream, const void *bytes, size_t len, struct buf *out, struct err *err)
{
	ZSTD_inBuffer in = { bytes, len, 0 };

	return out_step(stream, &in, ZSTD_e_continue, out, err);
}

int zstd_out_end(struct zstd_out *stream, struct buf *out, struct err *err)
{
	ZSTD_inBuffer in = { NULL, 0, 0 };

	return out_step(stream, &in, ZSTD_e_end, out, err);
}

void zstd_out_free(struct zstd_out *stream)
{
	if (!stream)
		return;
	ZSTD_freeCCtx(stream->context);
	free(stream);
}

struct zstd_in *zstd_in_new(void)
{
	size_t room = ZSTD_DStreamOutSize();
	struct zstd_in *stream = mem_zalloc(sizeof(*stream) + room);

	stream->room = room;
	stream->context = ZSTD_createDCtx();
	if (stream->context)
		(void)ZSTD_DCtx_setParameter(
			stream->context, ZSTD_d_windowLogMax, ZSTD_READ_WINDOW_LOG);
	return stream;
}

int zstd_in_add(struct zstd_in *stream, const void *bytes, size_t len,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err)
{
	ZSTD_inBuffer in = { bytes, len, 0 };
	ZSTD_outBuffer out = { stream->out, stream->room, 0 };

	if (!stream->context)
		return err_set(err, ERR_LIMIT, "out of memory for decompression");
	/* A full output buffer may mean that the context holds further output. */
	while (in.pos < in.size || out.pos == out.size) {
		if (stream->whole && in.pos < in.size)
			return err_set(err, ERR_CORRUPT, "compressed data goes on after its end");
		if (stream->whole)
			break;
		out.pos = 0;
		size_t left = ZSTD_decompressStream(stream->context, &out, &in);
		if (ZSTD_isError(left))
			return err_set(
				err, ERR_CORRUPT, "compressed data: %s", ZSTD_getErrorName(left));
		stream->whole = !left;
		int r = out.pos ? sink(arg, stream->out, out.pos, err) : 0;
		if (r < 0)
			return r;
	}
	return stream->whole;
}

void zstd_in_free(struct zstd_in *stream)
{
	if (!stream)
		return;
	ZSTD_freeDCtx(stream->context);
	free(stream);
}

void zstd_in_freep(struct zstd_in **stream)
{
	zstd_in_free(*stream);
}
