/*
 * Requests and answers about grants that were read can be written, and are then read as the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/grantwire.h"
#include "core/own.h"

static void read_request(struct str text)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(json_release) struct json first = JSON_INIT, second = JSON_INIT;
	struct grantwire_request request;
	struct err err = { 0 };

	if (grantwire_read_request(text, &arena, &request, &err) < 0) {
		if (!err.text[0])
			abort();
		return;
	}
	if (request.path && (request.path[0] != '/' || strstr(request.path, "//") ||
				    strstr(request.path, "/../")))
		abort();
	grantwire_write_request(&first, &request);
	/* Escapes need more bytes than the characters that they stand for. */
	if (json_written(&first).len > GRANTWIRE_MAX)
		return;
	if (grantwire_read_request(json_written(&first), &arena, &request, &err) < 0)
		abort();
	grantwire_write_request(&second, &request);
	if (!str_eq(json_written(&first), json_written(&second)))
		abort();
}

static void read_answer(struct str text)
{
	owned(arena_release) struct arena arena = { 0 };
	struct grantwire_answer answer;
	struct err err = { 0 };

	if (grantwire_read_answer(text, &arena, &answer, &err) < 0 && !err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_request((struct str){ (const char *)data, size });
	read_answer((struct str){ (const char *)data, size });
	return 0;
}
