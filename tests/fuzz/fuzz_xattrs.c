/* Attributes that are accepted must be encoded to the same bytes again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "tree/xattrs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct xattr list[XATTRS_MAX + 1]; /* one more than the limit */
	owned(buf_release) struct buf out = BUF_INIT;
	struct xattrs_reader reader;
	struct err err = { 0 };
	size_t n = 0;
	int r = xattrs_open(&reader, data, size, &err);

	if (r < 0)
		return 0;
	while (n <= XATTRS_MAX && (r = xattrs_next(&reader, &list[n], &err)) > 0)
		n++;
	if (n > XATTRS_MAX)
		abort();
	if (r < 0)
		return 0;
	xattrs_encode(list, n, &out);
	if (out.len != size || memcmp(out.data, data, size))
		abort();
	return 0;
}
