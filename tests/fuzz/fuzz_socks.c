/*
 * A greeting and the request after it are complete, or need more bytes, or are refused with an
 * answer.  If they are complete, every shorter beginning needs more bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/socks.h"
#include "core/own.h"

static void check_target(const struct hostname *target)
{
	char text[HOSTNAME_PORT_MAX];
	struct hostname again;

	if (!hostname_read_port(str_of(hostname_print(target, text)), 0, &again) ||
		strcmp(again.text, target->text) != 0 || again.port != target->port)
		abort();
}

static void check_request(struct str bytes)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct hostname target;
	size_t used = 0, ignored;
	const enum socks_result result = socks_request(bytes, &used, &target, &out);

	if ((result == SOCKS_BAD) != (out.len == 10))
		abort();
	if (result != SOCKS_WHOLE)
		return;
	if (!used || used > bytes.len || used > SOCKS_BYTES_MAX)
		abort();
	check_target(&target);
	for (size_t n = 0; n < used; n++)
		if (socks_request((struct str){ bytes.ptr, n }, &ignored, &target, &out) !=
			SOCKS_PARTIAL)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(buf_release) struct buf out = BUF_INIT;
	const struct str bytes = { (const char *)data, size };
	size_t used = 0;

	switch (socks_greet(bytes, &used, &out)) {
	case SOCKS_WHOLE:
		if (!used || used > size || used > SOCKS_BYTES_MAX || out.len != 2)
			abort();
		check_request((struct str){ bytes.ptr + used, size - used });
		break;
	case SOCKS_PARTIAL:
		if (out.len)
			abort();
		break;
	default:
		break;
	}
	check_request(bytes);
	return 0;
}
