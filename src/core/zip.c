#include "core/zip.h"

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
