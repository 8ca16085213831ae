/*
 * pack - an append-only file of objects.
 *
 * A pack consists of PACK_MAGIC and records.  Each record is
 *
 *	offset  size
 *	0       4     record magic "SOBJ"
 *	4       1     object type
 *	5       1     codec: 0 as is, 1 zstd
 *	6       2     zero
 *	8       4     stored length, little-endian
 *	12      4     raw length
 *	16      32    SHA-256 of the raw bytes
 *	48      …     stored bytes
 *
 * Records describe themselves, so a lost or damaged index can be rebuilt from the packs.  The
 * database records the end of each pack.  Bytes behind that end were left by a writer that was
 * killed, and the next writer cuts them off.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"
#include "core/err.h"
#include "store/object.h"

#define PACK_MAGIC "strata pack 1\n\0\0"
/* size of PACK_MAGIC in bytes, which is also the offset of the first record */
#define PACK_START 16
#define PACK_HEADER 48

enum pack_codec { PACK_PLAIN, PACK_ZSTD };

struct pack_record {
	struct object_key key;
	enum pack_codec codec;
	uint32_t stored, raw;
};

void pack_encode(const struct pack_record *record, uint8_t out[PACK_HEADER]);
/* Decode the header of a record.  Returns ERR_CORRUPT if pack_encode cannot have written it. */
int pack_decode(const uint8_t in[PACK_HEADER], struct pack_record *record, struct err *err);

/*
 * Decode one record, which is a header and the stored bytes behind it.  The stored bytes are
 * expanded to the raw bytes, checked against the hash, and appended to *out.
 */
int pack_unpack(const void *bytes, size_t len, struct pack_record *record, struct buf *out,
	struct err *err);

/* Write the file name of a pack, such as "00000007.pack", into 'out', and return 'out'. */
#define PACK_NAME_MAX 16
const char *pack_name(uint32_t id, char out[PACK_NAME_MAX]);
