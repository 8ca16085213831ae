/*
 * Splitting a reference gives parts that can be joined to the same text.  The input is also read as
 * a time, both as a whole and as the part between braces.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "history/ref.h"

#define NOW (INT64_C(1710325230) * WHEN_SECOND)

static void read_time(const char *text, size_t len)
{
	owned_mem char *copy = mem_zalloc(len + 1);
	struct err err = { 0 };
	int64_t instant = 0;
	char out[40];

	memcpy(copy, text, len);
	int r = when_parse(copy, NOW, &instant, &err);
	if (r < 0 && (err.code != ERR_INVALID || !err.text[0]))
		abort();
	if (r < 0)
		return;
	/* A printed time is read as the same instant. */
	int64_t again;
	if (when_parse(when_iso(instant, out), NOW, &again, &err) < 0 || again != instant)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size }, ref, path;

	ref_split(text, &ref, &path);
	if (ref.ptr != text.ptr || path.ptr + path.len != text.ptr + text.len)
		abort();
	if (ref.len + path.len != size &&
		(ref.len + 1 + path.len != size || text.ptr[ref.len] != ':'))
		abort();
	if (ref.len == size && path.len)
		abort();

	read_time(text.ptr, text.len);
	if (ref.len > 3 && !memcmp(ref.ptr, "@{", 2) && ref.ptr[ref.len - 1] == '}')
		read_time(ref.ptr + 2, ref.len - 3);
	return 0;
}
