/*
 * A line is read as a request with all its parts, or is refused with a code and a reason.  A reply
 * with the id of any line is one line of JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "rpc/envelope.h"

/* Check that a reply is one line, and can be read as an object with these members. */
static void check_reply(struct str text, const char *member)
{
	struct err err = { 0 };

	if (!text.len || memchr(text.ptr, '\n', text.len) != text.ptr + text.len - 1)
		abort();
	owned(jsonread_freep) struct jsonread *reply = jsonread_new_lenient(text, &err);
	/* with an id of maximum length, the reply is too long to be read again */
	if (!reply && err.code == ERR_LIMIT)
		return;
	if (!reply || !jsonread_member(reply, member) || !jsonread_member(reply, "id"))
		abort();
}

static void check_params(struct str params)
{
	struct err err = { 0 };

	if (!params.len)
		return;
	owned(jsonread_freep) struct jsonread *value = jsonread_new_lenient(params, &err);
	if (!value || jsonread_type(value) != JSONREAD_OBJECT)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(envelope_release) struct envelope envelope = ENVELOPE_INIT;
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };
	const char *feed = memchr(data, '\n', size);
	struct str line = { (const char *)data, feed ? (size_t)(feed - (const char *)data) : size };
	enum rpc_code code = envelope_read(line, &envelope, &err);
	struct str id = { envelope.id.data, envelope.id.len };

	if (code != RPC_NONE) {
		if (!err.text[0])
			abort();
		envelope_refuse(&out, id, code, &err, STR(""));
	} else {
		check_params(envelope.params);
		envelope_begin(&out, id);
		if (envelope_end(&out) < 0)
			abort();
	}
	check_reply(json_written(&out), code == RPC_NONE ? "result" : "error");
	return 0;
}
