/*
 * Requests and replies that were read can be written, and are then read and written as the same
 * bytes again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "worker/wire.h"

static void read_request(struct str text)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf first = BUF_INIT, second = BUF_INIT;
	struct wire_request request = { 0 };
	enum wire_code fault;
	struct err err = { 0 };

	if (wire_read_request(text, &arena, &request, &fault, &err) < 0) {
		if (!err.text[0])
			abort();
		return;
	}
	wire_write_request(&first, &request);
	struct str again = { first.data, first.len };
	/* As numbers, bytes can take more room than as base64. */
	if (first.len > (size_t)1 << 20)
		return;
	if (wire_read_request(again, &arena, &request, &fault, &err) < 0)
		abort();
	wire_write_request(&second, &request);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
}

static void read_reply(struct str text)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf first = BUF_INIT, second = BUF_INIT;
	struct wire_reply reply = { 0 };
	struct err err = { 0 };

	if (wire_read_reply(text, &arena, &reply, &err) < 0) {
		if (!err.text[0])
			abort();
		return;
	}
	wire_write_reply(&first, &reply);
	if (first.len > (size_t)1 << 20)
		return;
	if (wire_read_reply((struct str){ first.data, first.len }, &arena, &reply, &err) < 0)
		abort();
	wire_write_reply(&second, &reply);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_request((struct str){ (const char *)data, size });
	read_reply((struct str){ (const char *)data, size });
	return 0;
}
