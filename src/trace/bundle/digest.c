#include "trace/bundle/digest.h"

#include <errno.h>
#include <unistd.h>

#include "core/at.h"
#include "core/bytes.h"
#include "core/mem.h"
#include "core/own.h"

#define READ_SIZE ((size_t)256 << 10)
#define DIGITS (HASH_HEX - 1)
#define BLOCK 4096

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

/*
 * Add the blocks in the buffer 'bytes' to the stream.  'offset' is the position of the first byte
 * in the file.  A block of the file must begin there.  The last block may be short.
 */
static void add_blocks(struct hash_stream *stream, char *bytes, size_t len, uint64_t offset)
{
	char number[8];

	for (size_t at = 0; at < len; at += BLOCK) {
		size_t left = len - at < BLOCK ? len - at : BLOCK;

		if (bytes_are_zero(bytes + at, left))
			continue;
		/* A short block can be filled up in place, because the buffer has room after it. */
		memset(bytes + at + left, 0, BLOCK - left);
		bytes_put64(number, (offset + at) / BLOCK);
		hash_stream_add(stream, number, sizeof(number));
		hash_stream_add(stream, bytes + at, BLOCK);
	}
}

static off_t next_data(int fd, off_t from, off_t size)
{
	off_t at = lseek(fd, from, SEEK_DATA);

	/*
	 * ENXIO means that only a hole follows.  Any other error means that the file system does
	 * not support holes.
	 */
	return at >= 0 ? at : errno == ENXIO ? size : from;
}

int digest_blocks(int fd, struct hash *hash)
{
	owned_mem char *bytes = mem_alloc(READ_SIZE + BLOCK);
	off_t size = lseek(fd, 0, SEEK_END), at = 0;
	char number[8];
	int r = size < 0 ? -errno : 0;

	struct hash_stream *stream = hash_stream_new();
	while (r >= 0 && (at = next_data(fd, at, size)) < size) {
		at -= at % BLOCK;
		ssize_t n = at_pread_full(fd, bytes, READ_SIZE, (uint64_t)at);

		if (n <= 0) {
			r = n < 0 ? (int)n : -EIO;
			break;
		}
		add_blocks(stream, bytes, (size_t)n, (uint64_t)at);
		at += n;
	}
	bytes_put64(number, (uint64_t)(size < 0 ? 0 : size));
	hash_stream_add(stream, number, sizeof(number));
	hash_stream_finish(stream, hash);
	return r;
}

bool digest_has_holes(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END), hole = lseek(fd, 0, SEEK_HOLE);

	return hole >= 0 && hole < size;
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
	/* Compare the digits as text, so that capital digits do not match. */
	return !memcmp(hash_hex(&hash, hex), digits.ptr, DIGITS);
}
