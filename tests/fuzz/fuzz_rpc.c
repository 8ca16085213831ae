/*
 * A line of the control socket is a request with all its parts, or is refused with a code and a
 * reason.  The refusal is one line of JSON with the same id.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "owner/rpc.h"

static void check_refusal(const struct rpc_request *request, enum rpc_code code, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err wrong = { 0 };

	if (!err->text[0])
		abort();
	rpc_error(&out, request->id, code, err, NULL, 0);
	struct str text = { out.out.data, out.out.len };
	if (!text.len || memchr(text.ptr, '\n', text.len) != text.ptr + text.len - 1)
		abort();
	owned(jsonread_freep) struct jsonread *answer = jsonread_new(text, &wrong);
	if (!answer || !jsonread_member(answer, "error") || !jsonread_member(answer, "id"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpc_request request;
	struct err err = { 0 };
	enum rpc_code code = rpc_read((struct str){ (const char *)data, size }, &request, &err);

	if (code != RPC_NONE)
		check_refusal(&request, code, &err);
	else if (!request.method || !request.whole ||
		 (request.params && jsonread_type(request.params) != JSONREAD_OBJECT))
		abort();
	rpc_request_release(&request);
	return 0;
}
