/*
 * bytes - the primitives of strata's disk formats: little-endian integers and LEB128 varints.
 *
 * Numbers are written to a struct buf and read through a cursor.  The cursor remembers whether
 * bytes were missing or malformed, so a decoder checks only once, at the end.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/buf.h"
#include "core/hash.h"
#include "core/str.h"

static inline bool bytes_are_zero(const char *bytes, size_t len)
{
	return len && !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

static inline void bytes_put32(void *out, uint32_t v)
{
	uint8_t b[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24) };

	memcpy(out, b, 4);
}

static inline void bytes_put64(void *out, uint64_t v)
{
	bytes_put32(out, (uint32_t)v);
	bytes_put32((char *)out + 4, (uint32_t)(v >> 32));
}

static inline uint32_t bytes_get32(const void *in)
{
	const uint8_t *b = in;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t bytes_get64(const void *in)
{
	return bytes_get32(in) | (uint64_t)bytes_get32((const char *)in + 4) << 32;
}

static inline void bytes_varint(struct buf *out, uint64_t v)
{
	char b[10];
	size_t n = 0;

	do {
		b[n] = (char)(v & 0x7f);
		v >>= 7;
		if (v)
			b[n] |= (char)0x80;
		n++;
	} while (v);
	buf_add(out, b, n);
}

/* Signed integers are zigzag-encoded, so that small negative numbers take few bytes. */
static inline void bytes_svarint(struct buf *out, int64_t v)
{
	bytes_varint(out, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

static inline void bytes_str(struct buf *out, struct str text)
{
	bytes_varint(out, text.len);
	buf_add(out, text.ptr, text.len);
}

static inline void bytes_hash(struct buf *out, const struct hash *hash)
{
	buf_add(out, hash->bytes, HASH_SIZE);
}

struct cursor {
	const uint8_t *p;
	const uint8_t *end;
	bool bad; /* the cursor ran past the end or met a malformed varint */
};

static inline struct cursor cursor_of(const void *bytes, size_t len)
{
	return (struct cursor){ bytes, (const uint8_t *)bytes + len, false };
}

static inline size_t cursor_left(const struct cursor *in)
{
	return (size_t)(in->end - in->p);
}

static inline uint8_t cursor_byte(struct cursor *in)
{
	if (in->p == in->end) {
		in->bad = true;
		return 0;
	}
	return *in->p++;
}

static inline uint64_t cursor_varint(struct cursor *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = cursor_byte(in);

		/*
		 * The tenth byte has room for one bit only.  A zero as the last byte is refused,
		 * since it would be a second encoding of the same number.
		 */
		if ((shift == 63 && b > 1) || (shift && !b))
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	in->bad = true;
	return 0;
}

static inline int64_t cursor_svarint(struct cursor *in)
{
	uint64_t v = cursor_varint(in);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline struct str cursor_bytes(struct cursor *in, uint64_t len)
{
	struct str out = { (const char *)in->p, (size_t)len };

	if (len > cursor_left(in)) {
		in->bad = true;
		return (struct str){ "", 0 };
	}
	in->p += len;
	return out;
}

static inline struct str cursor_str(struct cursor *in)
{
	uint64_t len = cursor_varint(in);

	return cursor_bytes(in, len);
}

static inline void cursor_hash(struct cursor *in, struct hash *hash)
{
	struct str b = cursor_bytes(in, HASH_SIZE);

	if (!in->bad)
		memcpy(hash->bytes, b.ptr, HASH_SIZE);
}
