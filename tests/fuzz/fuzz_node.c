/*
 * Bytes that are decoded as a node are encoded to the same bytes again, so the node has only one
 * id.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "history/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf again = BUF_INIT;
	struct node node = { 0 };
	struct err err = { 0 };

	if (node_decode(data, size, &arena, &node, &err) < 0) {
		if (err.code != ERR_CORRUPT)
			abort();
		return 0;
	}
	node_encode(&node, &again);
	if (again.len != size || memcmp(again.data, data, size))
		abort();
	return 0;
}
