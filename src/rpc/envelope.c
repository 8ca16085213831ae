#include "rpc/envelope.h"

#include <string.h>

#include "core/own.h"

void envelope_release(struct envelope *envelope)
{
	jsonread_free(envelope->whole);
	buf_release(&envelope->id);
	*envelope = (struct envelope)ENVELOPE_INIT;
}

/* Append a JSON value without the white space between its parts. */
static void add_compact(struct buf *out, struct str value)
{
	bool in_string = false;

	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (!in_string && memchr(" \t\r\n", c, 4))
			continue;
		buf_addc(out, c);
		if (in_string && c == '\\' && i + 1 < value.len)
			buf_addc(out, value.ptr[++i]);
		else if (c == '"')
			in_string = !in_string;
	}
}

static enum rpc_code refuse(struct err *err, enum rpc_code code, const char *why)
{
	err_set(err, ERR_INVALID, "%s", why);
	return code;
}

enum rpc_code envelope_read(struct str line, struct envelope *envelope, struct err *err)
{
	*envelope = (struct envelope)ENVELOPE_INIT;
	envelope->answered = true;
	envelope->line = line;
	struct jsonread *whole = envelope->whole = jsonread_new_lenient(line, err);
	const struct jsonread *id = whole ? jsonread_member(whole, "id") : NULL;

	if (id)
		add_compact(&envelope->id, jsonread_raw(id, line));
	else
		buf_adds(&envelope->id, "null");
	if (!whole)
		return RPC_PARSE;
	if (jsonread_type(whole) != JSONREAD_OBJECT)
		return refuse(err, RPC_INVALID, "a request is one JSON object");
	if (jsonread_get_str(whole, "method", &envelope->method) != JSONREAD_FOUND)
		return refuse(err, RPC_INVALID, "'method' is missing, or is not a string");
	envelope->answered = id != NULL;
	const struct jsonread *params = jsonread_member(whole, "params");
	if (params && jsonread_type(params) != JSONREAD_OBJECT)
		return refuse(err, RPC_PARAMS, "'params' must be an object");
	if (params)
		envelope->params = jsonread_raw(params, line);
	return RPC_NONE;
}

bool envelope_param_id(const struct envelope *envelope, struct buf *out)
{
	const struct jsonread *params = jsonread_member(envelope->whole, "params");
	const struct jsonread *id = params ? jsonread_member(params, "id") : NULL;

	if (id)
		add_compact(out, jsonread_raw(id, envelope->line));
	return id;
}

static void begin_reply(struct json *out, struct str id)
{
	owned(buf_release) struct buf member = BUF_INIT;

	buf_adds(&member, "\"id\":");
	buf_add(&member, id.ptr, id.len);
	json_open(out, NULL, '{');
	json_text(out, "jsonrpc", "2.0");
	json_members(out, (struct str){ member.data, member.len });
}

void envelope_begin(struct json *out, struct str id)
{
	begin_reply(out, id);
	json_open(out, "result", '{');
}

int envelope_end(struct json *out)
{
	json_close(out);
	json_close(out);
	return json_end(out);
}

void envelope_refuse(
	struct json *out, struct str id, enum rpc_code code, const struct err *err, struct str data)
{
	begin_reply(out, id);
	json_open(out, "error", '{');
	json_int(out, "code", code);
	json_text(out, "message", err->text);
	if (err->hint[0] || data.len) {
		json_open(out, "data", '{');
		if (data.len)
			json_members(out, data);
		if (err->hint[0])
			json_text(out, "hint", err->hint);
		json_close(out);
	}
	(void)envelope_end(out);
}
