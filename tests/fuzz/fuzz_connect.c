/*
 * A request to a proxy is refused with a reason, or names a host in the only accepted spelling.
 * The bytes that are sent to that host are a request for this host and no other.  The place where a
 * body ends does not depend on the parts in which it arrives.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "confine/httpconnect.h"
#include "core/own.h"

/* The printed text of a host must be read as the same host again. */
static void check_host(const struct hostname *host)
{
	char text[HOSTNAME_PORT_MAX];
	struct hostname again;

	if (!hostname_read_port(str_of(hostname_print(host, text)), 0, &again) ||
		strcmp(again.text, host->text) != 0 || again.port != host->port ||
		again.literal != host->literal)
		abort();
}

static void check_rewritten(const struct httphead_request *request, const struct hostname *target)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct httphead_request again;
	struct hostname named;

	httpconnect_rewrite(&out, request, target);
	/*
	 * The written head may be longer than a head that can be read, since it contains the host
	 * twice.
	 */
	if (out.len > HTTPHEAD_MAX)
		return;
	if (httphead_read((struct str){ out.data, out.len }, &again) != HTTPHEAD_WHOLE ||
		again.size != out.len || again.upgrade || again.length != request->length ||
		again.chunked != request->chunked)
		abort();
	if (!httpconnect_named(&again, 80, &named) || strcmp(named.text, target->text) != 0 ||
		named.port != target->port)
		abort();
}

static void check_body(const struct httphead_request *request, struct str rest)
{
	struct httphead_body whole, parts;
	size_t at = 0;

	httphead_body_start(request, &whole);
	parts = whole;
	if (whole.done)
		return;
	const size_t n = httphead_body_take(&whole, rest);
	while (at < rest.len && !parts.done && !parts.bad)
		at += httphead_body_take(&parts, (struct str){ rest.ptr + at, 1 });
	if (n > rest.len || at != n || whole.done != parts.done || whole.bad != parts.bad)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str bytes = { (const char *)data, size };
	struct httphead_request request;
	struct hostname target;
	const char *wrong = NULL;

	switch (httphead_read(bytes, &request)) {
	case HTTPHEAD_BAD:
		if (!request.wrong)
			abort();
		return 0;
	case HTTPHEAD_PARTIAL:
		return 0;
	default:
		break;
	}
	if (!request.size || request.size > size || request.size > HTTPHEAD_MAX)
		abort();
	check_body(&request, (struct str){ bytes.ptr + request.size, size - request.size });
	if (httpconnect_named(&request, 80, &target))
		check_host(&target);
	if (!httpconnect_target(&request, &target, &wrong)) {
		if (!wrong)
			abort();
		return 0;
	}
	check_host(&target);
	if (!httpconnect_is_tunnel(&request))
		check_rewritten(&request, &target);
	return 0;
}
