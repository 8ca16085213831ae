#include "core/zip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "core/mem.h"

/*
 * Level 1 keeps ingest bound by reading and hashing; level 3 saves about 5 %
 * more on source trees for about twice the time.
 */
#define LEVEL 1

static _Thread_local ZSTD_CCtx *compressor;
static _Thread_local ZSTD_DCtx *expander;

size_t zip_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

size_t zip_compress(void *out, size_t room, const void *bytes, size_t len)
{
	size_t n;

	if (!compressor)
		compressor = ZSTD_createCCtx();
	if (!compressor)
		return 0;
	n = ZSTD_compressCCtx(compressor, out, room, bytes, len, LEVEL);
	if (ZSTD_isError(n) || n >= len - len / 16)
		return 0;
	return n;
}

int zip_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err)
{
	size_t n;

	if (!expander)
		expander = ZSTD_createDCtx();
	if (!expander)
		return err_set(err, ERR_LIMIT, "out of memory for decompression");
	n = ZSTD_decompressDCtx(expander, out, len, bytes, stored);
	if (ZSTD_isError(n))
		return err_set(err, ERR_CORRUPT, "compressed data: %s", ZSTD_getErrorName(n));
	if (n != len)
		return err_set(err, ERR_CORRUPT, "compressed data is %zu bytes, not %zu", n, len);
	return 0;
}

void zip_thread_end(void)
{
	ZSTD_freeCCtx(compressor);
	ZSTD_freeDCtx(expander);
	compressor = NULL;
	expander = NULL;
}

/* --- frames made and read in pieces --- */

struct zip_out {
	ZSTD_CCtx *context;
};

struct zip_in {
	ZSTD_DCtx *context;
	bool whole;
	size_t room;
	char out[];
};

struct zip_out *zip_out_new(void)
{
	struct zip_out *zip = mem_zalloc(sizeof(*zip));

	zip->context = ZSTD_createCCtx();
	return zip;
}

int zip_out_begin(struct zip_out *zip, uint64_t len, struct err *err)
{
	if (!zip->context)
		return err_set(err, ERR_LIMIT, "out of memory for compression");
	(void)ZSTD_CCtx_reset(zip->context, ZSTD_reset_session_and_parameters);
	size_t level = ZSTD_CCtx_setParameter(zip->context, ZSTD_c_compressionLevel, LEVEL);
	size_t size = ZSTD_CCtx_setPledgedSrcSize(zip->context, len);
	if (ZSTD_isError(level) || ZSTD_isError(size))
		return err_set(err, ERR_INVALID, "compression of %llu bytes cannot be set up",
			(unsigned long long)len);
	return 0;
}

static int out_step(struct zip_out *zip, ZSTD_inBuffer *in, ZSTD_EndDirective how, struct buf *out,
	struct err *err)
{
	ZSTD_outBuffer room = { .size = ZSTD_CStreamOutSize() };
	size_t left;

	do {
		room.dst = buf_reserve(out, room.size);
		room.pos = 0;
		if (!room.dst)
			return err_set(err, ERR_LIMIT, "compressed data is too large");
		left = ZSTD_compressStream2(zip->context, &room, in, how);
		if (ZSTD_isError(left))
			return err_set(err, ERR_INVALID, "compress: %s", ZSTD_getErrorName(left));
		out->len += room.pos;
		out->data[out->len] = '\0';
	} while (in->pos < in->size || (how == ZSTD_e_end && left));
	return 0;
}

int zip_out_add(
	struct zip_out *zip, const void *bytes, size_t len, struct buf *out, struct err *err)
{
	ZSTD_inBuffer in = { bytes, len, 0 };

	return out_step(zip, &in, ZSTD_e_continue, out, err);
}

int zip_out_end(struct zip_out *zip, struct buf *out, struct err *err)
{
	ZSTD_inBuffer in = { NULL, 0, 0 };

	return out_step(zip, &in, ZSTD_e_end, out, err);
}

void zip_out_free(struct zip_out *zip)
{
	if (!zip)
		return;
	ZSTD_freeCCtx(zip->context);
	free(zip);
}

struct zip_in *zip_in_new(void)
{
	size_t room = ZSTD_DStreamOutSize();
	struct zip_in *zip = mem_zalloc(sizeof(*zip) + room);

	zip->room = room;
	zip->context = ZSTD_createDCtx();
	if (zip->context)
		(void)ZSTD_DCtx_setParameter(zip->context, ZSTD_d_windowLogMax, ZIP_WINDOW_MAX_LOG);
	return zip;
}

int zip_in_add(struct zip_in *zip, const void *bytes, size_t len,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err)
{
	ZSTD_inBuffer in = { bytes, len, 0 };
	ZSTD_outBuffer out = { zip->out, zip->room, 0 };

	if (!zip->context)
		return err_set(err, ERR_LIMIT, "out of memory for decompression");
	/* A full buffer may leave more behind in the context. */
	while (in.pos < in.size || out.pos == out.size) {
		if (zip->whole && in.pos < in.size)
			return err_set(err, ERR_CORRUPT, "compressed data goes on after its end");
		if (zip->whole)
			break;
		out.pos = 0;
		size_t left = ZSTD_decompressStream(zip->context, &out, &in);
		if (ZSTD_isError(left))
			return err_set(
				err, ERR_CORRUPT, "compressed data: %s", ZSTD_getErrorName(left));
		zip->whole = !left;
		int r = out.pos ? sink(arg, zip->out, out.pos, err) : 0;
		if (r < 0)
			return r;
	}
	return zip->whole;
}

void zip_in_free(struct zip_in *zip)
{
	if (!zip)
		return;
	ZSTD_freeDCtx(zip->context);
	free(zip);
}

void zip_in_freep(struct zip_in **zip)
{
	zip_in_free(*zip);
}
