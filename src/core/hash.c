#include "core/hash.h"

#include <stdlib.h>

#include <nettle/sha2.h>

#include "core/mem.h"

struct hash_stream {
	struct sha256_ctx ctx;
};

void hash_of(const void *bytes, size_t len, struct hash *hash)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, len, bytes);
	sha256_digest(&ctx, HASH_SIZE, hash->bytes);
}

struct hash_stream *hash_stream_new(void)
{
	struct hash_stream *stream = mem_alloc(sizeof(*stream));

	sha256_init(&stream->ctx);
	return stream;
}

void hash_stream_add(struct hash_stream *stream, const void *bytes, size_t len)
{
	sha256_update(&stream->ctx, len, bytes);
}

void hash_stream_finish(struct hash_stream *stream, struct hash *hash)
{
	sha256_digest(&stream->ctx, HASH_SIZE, hash->bytes);
	free(stream);
}

const char *hash_hex(const struct hash *hash, char out[HASH_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < HASH_SIZE; i++) {
		out[2 * i] = digits[hash->bytes[i] >> 4];
		out[2 * i + 1] = digits[hash->bytes[i] & 15];
	}
	out[2 * HASH_SIZE] = '\0';
	return out;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool hash_parse(const char *text, struct hash *hash)
{
	for (size_t i = 0; i < HASH_SIZE; i++) {
		int high = digit_value(text[2 * i]);
		int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);

		if (low < 0)
			return false;
		hash->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return !text[2 * HASH_SIZE];
}
