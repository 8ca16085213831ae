#include "store/pack.h"

#include <stdio.h>

#include "core/bytes.h"
#include "core/zstd.h"

#define RECORD_MAGIC 0x4a424f53u /* the text "SOBJ" */

void pack_encode(const struct pack_record *record, uint8_t out[PACK_HEADER])
{
	memset(out, 0, PACK_HEADER);
	bytes_put32(out, RECORD_MAGIC);
	out[4] = (uint8_t)record->key.type;
	out[5] = (uint8_t)record->codec;
	bytes_put32(out + 8, record->stored);
	bytes_put32(out + 12, record->raw);
	memcpy(out + 16, record->key.hash.bytes, HASH_SIZE);
}

int pack_decode(const uint8_t in[PACK_HEADER], struct pack_record *record, struct err *err)
{
	struct pack_record out = {
		.key.type = in[4],
		.codec = in[5],
		.stored = bytes_get32(in + 8),
		.raw = bytes_get32(in + 12),
	};

	if (bytes_get32(in) != RECORD_MAGIC || in[6] || in[7])
		return err_set(err, ERR_CORRUPT, "not a pack record");
	if (out.key.type < OBJECT_BLOB || out.key.type >= OBJECT_TYPE_END || out.codec > PACK_ZSTD)
		return err_set(err, ERR_CORRUPT, "pack record of unknown type");
	if (out.raw > OBJECT_MAX || out.stored > out.raw ||
		(out.codec == PACK_PLAIN && out.stored != out.raw))
		return err_set(err, ERR_CORRUPT, "pack record with impossible length");
	memcpy(out.key.hash.bytes, in + 16, HASH_SIZE);
	*record = out;
	return 0;
}

int pack_unpack(
	const void *bytes, size_t len, struct pack_record *record, struct buf *out, struct err *err)
{
	const uint8_t *in = bytes;
	struct hash actual;

	if (len < PACK_HEADER)
		return err_set(err, ERR_CORRUPT, "pack record is cut off");
	int r = pack_decode(in, record, err);
	if (r < 0)
		return r;
	if (len - PACK_HEADER < record->stored)
		return err_set(err, ERR_CORRUPT, "pack record is cut off");
	char *room = buf_reserve(out, record->raw);
	if (!room)
		return err_set(err, ERR_LIMIT, "object of %u bytes is too large", record->raw);
	if (record->codec == PACK_ZSTD) {
		r = zstd_expand(room, record->raw, in + PACK_HEADER, record->stored, err);
		if (r < 0)
			return r;
	} else {
		memcpy(room, in + PACK_HEADER, record->raw);
	}
	hash_of(room, record->raw, &actual);
	if (!hash_eq(&actual, &record->key.hash))
		return err_set(err, ERR_CORRUPT, "content does not match its hash");
	out->len += record->raw;
	out->data[out->len] = '\0';
	return 0;
}

const char *pack_name(uint32_t id, char out[PACK_NAME_MAX])
{
	snprintf(out, PACK_NAME_MAX, "%08x.pack", id);
	return out;
}
