/*
 * A hello is complete from some byte on, and incomplete before that byte.  Its name is empty, or is
 * a valid name of a host.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/tlshello.h"

#define PREFIXES_MAX 512

static void check_name(const char *name)
{
	struct hostname host;

	if (name[0] && (!hostname_read(str_of(name), false, &host) || strcmp(host.text, name) != 0))
		abort();
}

/* When the result is known, more bytes in other records do not change it. */
static void check_prefixes(const uint8_t *data, size_t size, enum tlshello result)
{
	char name[HOSTNAME_MAX + 1];

	for (size_t n = 1; n < size && n < PREFIXES_MAX; n++) {
		const enum tlshello before =
			tlshello_read((struct str){ (const char *)data, n }, name);

		check_name(name);
		if (before == TLSHELLO_OTHER && result != TLSHELLO_OTHER)
			abort();
		if (before == TLSHELLO_BAD && result != TLSHELLO_BAD)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HOSTNAME_MAX + 1];
	const enum tlshello result = tlshello_read((struct str){ (const char *)data, size }, name);

	check_name(name);
	if (name[0] && result != TLSHELLO_WHOLE && result != TLSHELLO_BAD)
		abort();
	if (size >= TLSHELLO_BYTES_MAX && result == TLSHELLO_PARTIAL)
		abort();
	check_prefixes(data, size, result);
	return 0;
}
