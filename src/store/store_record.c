/* Reads the records of a pack for maintenance, even if the pack is damaged. */
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "store/store_priv.h"

void store_record_release(struct store_record *record)
{
	buf_release(&record->bytes);
	buf_release(&record->raw);
}

bool store_record_header(int fd, uint64_t offset, uint64_t end, struct pack_record *record)
{
	uint8_t header[PACK_HEADER];
	struct err ignored;

	return offset <= end && end - offset >= PACK_HEADER &&
	       at_pread_full(fd, header, PACK_HEADER, offset) == PACK_HEADER &&
	       pack_decode(header, record, &ignored) >= 0 &&
	       end - offset - PACK_HEADER >= record->stored;
}

const char *store_record_read(int fd, uint64_t offset, uint64_t end, struct store_record *record)
{
	struct err ignored;

	if (!store_record_header(fd, offset, end, &record->record))
		return "record header is damaged";
	buf_clear(&record->bytes);
	buf_clear(&record->raw);
	size_t need = PACK_HEADER + record->record.stored;
	char *room = buf_reserve(&record->bytes, need);
	ssize_t n = room ? at_pread_full(fd, room, need, offset) : 0;
	if (n < 0)
		return "pack cannot be read";
	if ((size_t)n < need)
		return "pack is cut off";
	record->bytes.len = need;
	if (pack_unpack(record->bytes.data, need, &record->record, &record->raw, &ignored) < 0)
		return "content does not match its hash";
	return NULL;
}

uint64_t store_record_seek(int fd, uint64_t offset, uint64_t end)
{
	static const char magic[] = "SOBJ"; /* magic number of a record; see pack.h */
	const size_t overlap = sizeof(magic) - 2;
	size_t size = (size_t)1 << 16;
	owned_mem char *block = mem_alloc(size);
	struct pack_record record;

	while (offset < end) {
		ssize_t n = at_pread_full(fd, block, size, offset);
		char *at = block;

		if (n < (ssize_t)sizeof(magic) - 1)
			break;
		while ((at = memmem(at, (size_t)(block + n - at), magic, sizeof(magic) - 1))) {
			if (store_record_header(fd, offset + (uint64_t)(at - block), end, &record))
				return offset + (uint64_t)(at - block);
			at++;
		}
		/*
		 * Begin the next block a few bytes before the end of this block, since a magic
		 * number may extend into the next block.
		 */
		offset += (uint64_t)n - overlap;
	}
	return end;
}
