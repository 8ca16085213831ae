#include "parquet/pqsnappy.h"

#include <assert.h>
#include <snappy-c.h>
#include <string.h>

size_t pqsnappy_bound(size_t len)
{
	return snappy_max_compressed_length(len);
}

size_t pqsnappy_begin(uint8_t out[PQSNAPPY_BEGIN_MAX], uint32_t len)
{
	size_t n = 0;

	for (; len >= 0x80; len >>= 7)
		out[n++] = (uint8_t)(len | 0x80);
	out[n++] = (uint8_t)len;
	return n;
}

size_t pqsnappy_piece(void *out, size_t room, const void *bytes, size_t len)
{
	uint8_t begin[PQSNAPPY_BEGIN_MAX];
	size_t drop = pqsnappy_begin(begin, (uint32_t)len);
	snappy_status status = snappy_compress(bytes, len, out, &room);

	/* snappy_compress fails only if the output has too little room. */
	assert(status == SNAPPY_OK && room >= drop);
	memmove(out, (char *)out + drop, room - drop);
	return room - drop;
}

int pqsnappy_expand(void *out, size_t len, const void *bytes, size_t stored, struct err *err)
{
	size_t said;

	if (snappy_uncompressed_length(bytes, stored, &said) != SNAPPY_OK)
		return err_set(err, ERR_CORRUPT, "compressed data: not a Snappy block");
	if (said != len)
		return err_set(
			err, ERR_CORRUPT, "compressed data is %zu bytes, not %zu", said, len);
	if (snappy_uncompress(bytes, stored, out, &said) != SNAPPY_OK)
		return err_set(err, ERR_CORRUPT, "compressed data: damaged Snappy block");
	return 0;
}
