/*
 * Any info.xml is read without harm, since it comes from a foreign directory.  All texts are UTF-8
 * without control characters.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "core/text.h"
#include "query/snapperinfo.h"

static void check_text(const char *text)
{
	if (!text)
		return;
	if (!*text || !text_is_utf8(str_of(text)))
		abort();
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(arena_release) struct arena arena = { 0 };
	struct snapperinfo info;

	if (!snapperinfo_parse((struct str){ (const char *)data, size }, &arena, &info))
		return 0;
	check_text(info.type);
	check_text(info.description);
	check_text(info.cleanup);
	return 0;
}
