#include "trace/digest.h"

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

#define READ_SIZE ((size_t)256 << 10)
#define DIGITS (HASH_HEX - 1)

int digest_fd(int fd, struct hash *hash)
{
	owned_mem char *bytes = mem_alloc(READ_SIZE);
	struct hash_stream *stream = hash_stream_new();
	uint64_t offset = 0;
	ssize_t n;

	while ((n = at_pread_full(fd, bytes, READ_SIZE, offset)) > 0) {
		hash_stream_add(stream, bytes, (size_t)n);
		offset += (uint64_t)n;
	}
	hash_stream_finish(stream, hash);
	return n < 0 ? (int)n : 0;
}

bool digest_find(struct str first, struct str digits, size_t *at)
{
	size_t len = first.len < DIGEST_FIRST ? first.len : DIGEST_FIRST;
	const char *found =
		digits.len == DIGITS ? memmem(first.ptr, len, digits.ptr, DIGITS) : NULL;

	if (found)
		*at = (size_t)(found - first.ptr);
	return found;
}

bool digest_is_of(struct str manifest, struct str digits)
{
	char hex[HASH_HEX];
	struct hash hash;
	size_t at;

	if (!digest_find(manifest, digits, &at))
		return false;
	struct hash_stream *stream = hash_stream_new();
	hash_stream_add(stream, manifest.ptr, at);
	hash_stream_add(stream, DIGEST_ZEROS, DIGITS);
	hash_stream_add(stream, manifest.ptr + at + DIGITS, manifest.len - at - DIGITS);
	hash_stream_finish(stream, &hash);
	/* As text: digits in capitals are others. */
	return !memcmp(hash_hex(&hash, hex), digits.ptr, DIGITS);
}
