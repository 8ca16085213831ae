/*
 * The input is read as a record of a pack.
 *
 * Random bytes never match a SHA-256.  So a record whose content can be expanded is also tried with
 * its correct hash.  With this hash the record must be accepted.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "core/zstd.h"
#include "store/pack.h"

#define RAW_MAX ((size_t)1 << 20) /* larger contents only cost time */

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_header(const uint8_t *data, const struct pack_record *record)
{
	uint8_t again[PACK_HEADER];

	pack_encode(record, again);
	must(!memcmp(again, data, PACK_HEADER));
	must(record->raw <= OBJECT_MAX && record->stored <= record->raw);
}

static void check_with_right_hash(const uint8_t *data, struct pack_record record)
{
	owned(buf_release) struct buf raw = BUF_INIT;
	owned(buf_release) struct buf bytes = BUF_INIT;
	owned(buf_release) struct buf out = BUF_INIT;
	uint8_t header[PACK_HEADER];
	struct err err = { 0 };
	char *room = buf_reserve(&raw, record.raw);
	const uint8_t *stored = data + PACK_HEADER;

	if (record.codec == PACK_PLAIN)
		memcpy(room, stored, record.raw);
	else if (zstd_expand(room, record.raw, stored, record.stored, &err) < 0)
		return;
	hash_of(room, record.raw, &record.key.hash);
	pack_encode(&record, header);
	buf_add(&bytes, header, PACK_HEADER);
	buf_add(&bytes, stored, record.stored);
	must(pack_unpack(bytes.data, bytes.len, &record, &out, &err) == 0);
	must(out.len == record.raw && !memcmp(out.data, room, out.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct pack_record record;
	struct err err = { 0 };
	int r = pack_unpack(data, size, &record, &out, &err);

	must(r >= 0 ? out.len == record.raw : !out.len);
	if (size < PACK_HEADER || pack_decode(data, &record, &err) < 0) {
		must(r < 0);
		return 0;
	}
	check_header(data, &record);
	if (size - PACK_HEADER >= record.stored && record.raw <= RAW_MAX)
		check_with_right_hash(data, record);
	return 0;
}
