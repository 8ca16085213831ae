/* hash - SHA-256, which names every object.  Only hash.c uses nettle. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_SIZE 32
#define HASH_HEX (2 * HASH_SIZE + 1)

struct hash {
	uint8_t bytes[HASH_SIZE];
};

void hash_of(const void *bytes, size_t len, struct hash *hash);

/*
 * Computes the hash of a content piece by piece, so the content need not be in memory as a whole.
 */
struct hash_stream;
struct hash_stream *hash_stream_new(void);
void hash_stream_add(struct hash_stream *stream, const void *bytes, size_t len);
void hash_stream_finish(struct hash_stream *stream, struct hash *hash); /* frees stream */

const char *hash_hex(const struct hash *hash, char out[HASH_HEX]);
/* Read a hash as 64 lower-case hex digits.  Returns false if the text is anything else. */
bool hash_parse(const char *text, struct hash *hash);

static inline bool hash_eq(const struct hash *a, const struct hash *b)
{
	return !memcmp(a->bytes, b->bytes, HASH_SIZE);
}

/* Whether a hash is all zero, which stands for "none": no content has that hash in practice. */
static inline bool hash_is_none(const struct hash *hash)
{
	static const struct hash none;

	return hash_eq(hash, &none);
}

/* The first eight bytes, for hash tables and compact sets. */
static inline uint64_t hash_prefix(const struct hash *hash)
{
	uint64_t prefix;

	memcpy(&prefix, hash->bytes, sizeof(prefix));
	return prefix;
}
