#include "owner/rpc.h"

#include <string.h>

#include "ops/shape.h"

void rpc_request_release(struct rpc_request *request)
{
	jsonread_free(request->whole);
	*request = (struct rpc_request){ 0 };
}

static bool is_valid_id(const struct jsonread *id)
{
	enum jsonread_type type = jsonread_type(id);

	return type == JSONREAD_STRING || type == JSONREAD_INT || type == JSONREAD_REAL ||
	       type == JSONREAD_NULL;
}

static enum rpc_code invalid(struct err *err, const char *what)
{
	err_set(err, ERR_INVALID, "%s", what);
	return RPC_INVALID;
}

enum rpc_code rpc_read(struct str line, struct rpc_request *request, struct err *err)
{
	struct str version, method;

	*request = (struct rpc_request){ .whole = jsonread_new(line, err) };
	if (!request->whole)
		return err->code == ERR_LIMIT ? RPC_LIMIT : RPC_PARSE;
	if (jsonread_type(request->whole) != JSONREAD_OBJECT)
		return invalid(err, "a request is one JSON object");
	const struct jsonread *id = jsonread_member(request->whole, "id");
	if (id && !is_valid_id(id))
		return invalid(err, "'id' must be a string or a number");
	request->id = id;
	if (jsonread_get_str(request->whole, "jsonrpc", &version) != JSONREAD_FOUND ||
		!str_eq(version, STR("2.0")))
		return invalid(err, "'jsonrpc' must be \"2.0\"");
	if (jsonread_get_str(request->whole, "method", &method) != JSONREAD_FOUND ||
		memchr(method.ptr, 0, method.len))
		return invalid(err, "'method' must be a string");
	request->method = method.ptr;
	const struct jsonread *params = jsonread_member(request->whole, "params");
	if (params && jsonread_type(params) == JSONREAD_NULL)
		params = NULL;
	if (params && jsonread_type(params) != JSONREAD_OBJECT) {
		err_set(err, ERR_INVALID, "'params' must be an object: parameters have names");
		return RPC_PARAMS;
	}
	request->params = params;
	return RPC_NONE;
}

static void begin_answer(struct json *out, const struct jsonread *id)
{
	json_open(out, NULL, '{');
	json_text(out, "jsonrpc", "2.0");
	if (id)
		jsonread_write(out, "id", id);
	else
		json_none(out, "id");
}

void rpc_begin(struct json *out, const struct jsonread *id)
{
	begin_answer(out, id);
	json_open(out, "result", '{');
}

void rpc_ask(struct json *out, int64_t id, const char *method)
{
	json_open(out, NULL, '{');
	json_text(out, "jsonrpc", "2.0");
	if (id)
		json_int(out, "id", id);
	json_text(out, "method", method);
	json_open(out, "params", '{');
}

void rpc_notify(struct json *out, const char *method)
{
	rpc_ask(out, 0, method);
}

void rpc_end(struct json *out)
{
	json_close(out);
	json_close(out);
	(void)json_end(out);
}

void rpc_error(struct json *out, const struct jsonread *id, enum rpc_code code,
	const struct err *err, const char *const *candidates, size_t n_candidates)
{
	begin_answer(out, id);
	json_open(out, "error", '{');
	json_int(out, "code", code);
	json_text(out, "message", err->text);
	if (err->hint[0] || candidates) {
		json_open(out, "data", '{');
		if (err->hint[0])
			json_text(out, "hint", err->hint);
		if (code == RPC_UNSUPPORTED)
			json_text(out, "missing", err->text);
		if (candidates)
			json_texts(out, "candidates", candidates, n_candidates);
		json_close(out);
	}
	rpc_end(out);
}
