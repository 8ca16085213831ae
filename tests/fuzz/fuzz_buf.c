#include "core/buf.h"
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf buf = { .max = 256 };
	while (size > 1) {
		size_t n = data[0] < size - 1 ? data[0] : size - 1;
		buf_add(&buf, data + 1, n);
		data += n + 1;
		size -= n + 1;
		if (buf.len >= buf.max || (buf.data && buf.data[buf.len]))
			abort();
	}
	buf_release(&buf);
	return 0;
}
