/* A chunk list that is accepted must be encoded to the same bytes again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "tree/content.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct content_list list;
	struct content_piece piece;
	struct err err = { 0 };
	int r = content_list_open(&list, data, size, &err);

	if (r < 0)
		return 0;
	buf_addc(&out, 1);
	buf_addc(&out, (char)list.level);
	bytes_varint(&out, list.left);
	while ((r = content_list_next(&list, &piece, &err)) > 0) {
		if (!piece.length || (piece.hole && list.level))
			abort();
		bytes_varint(&out, list.level ? piece.length : piece.length * 2 + piece.hole);
		if (!piece.hole)
			bytes_hash(&out, &piece.hash);
	}
	if (r == 0 && (out.len != size || memcmp(out.data, data, size)))
		abort();
	return 0;
}
