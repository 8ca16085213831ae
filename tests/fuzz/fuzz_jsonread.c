/*
 * A text that was read can be written, and is then read as the same values again.  Bytes of the
 * input that are written as a string are read back unchanged.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/jsonread.h"
#include "core/own.h"

static void write_again(const struct jsonread *value, struct json *out)
{
	jsonread_write(out, NULL, value);
	if (json_end(out) < 0)
		abort();
}

static void read_and_write(struct str text)
{
	owned(json_release) struct json first = JSON_INIT, second = JSON_INIT;
	struct err err = { 0 };
	owned(jsonread_freep) struct jsonread *value = jsonread_new(text, &err);

	if (!value) {
		if ((err.code != ERR_INVALID && err.code != ERR_LIMIT) || !err.text[0])
			abort();
		return;
	}
	write_again(value, &first);
	/* Escapes can make the text longer than the limit of the reader. */
	if (first.out.len > JSONREAD_SIZE_MAX)
		return;
	owned(jsonread_freep) struct jsonread *again =
		jsonread_new((struct str){ first.out.data, first.out.len }, &err);
	if (!again)
		abort();
	write_again(again, &second);
	if (first.out.len != second.out.len ||
		memcmp(first.out.data, second.out.data, first.out.len) != 0)
		abort();
}

static void quote_and_read(struct str bytes)
{
	owned(buf_release) struct buf quoted = BUF_INIT;
	struct err err = { 0 };

	json_quote(&quoted, bytes);
	if (quoted.len > JSONREAD_SIZE_MAX)
		return;
	owned(jsonread_freep) struct jsonread *value =
		jsonread_new((struct str){ quoted.data, quoted.len }, &err);
	if (!value || jsonread_type(value) != JSONREAD_STRING ||
		!str_eq(jsonread_str(value), bytes))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };

	read_and_write(text);
	quote_and_read(text);
	return 0;
}
