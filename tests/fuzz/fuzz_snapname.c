/*
 * The name of a snapshot comes from a foreign directory.  A time in it must be within the valid
 * years, and the comparison of names must be consistent.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/when.h"
#include "query/snapname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str name = { (const char *)data, size };
	int64_t instant;

	if (snapname_time(name, &instant) &&
		(instant < 0 - WHEN_SECOND * 86400 || instant > WHEN_LAST))
		abort();
	if (snapname_is_snapshot(name) &&
		(!snapname_is_dataset(name) || memchr(name.ptr, '\0', size) ||
			memchr(name.ptr, '/', size) || memchr(name.ptr, '@', size)))
		abort();
	if (snapname_class(name) >= SNAPNAME_CLASSES)
		abort();
	/* Cut the input into three names, and check the order of all three. */
	struct str a = { name.ptr, size / 3 }, b = { name.ptr + size / 3, size / 3 };
	struct str c = { b.ptr + b.len, size - 2 * (size / 3) };
	if (snapname_compare(a, b) != -snapname_compare(b, a) &&
		snapname_compare(a, b) * snapname_compare(b, a) >= 0)
		abort();
	if (snapname_compare(a, b) < 0 && snapname_compare(b, c) < 0 && snapname_compare(a, c) >= 0)
		abort();
	return 0;
}
