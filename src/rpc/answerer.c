#include "rpc/answerer.h"

#include "core/own.h"
#include "core/text.h"
#include "query/method.h"
#include "rpc/envelope.h"

#define OUTER_MAX 256 /* bytes of a reply outside of its id and its result */

/*
 * Returns the method with this name, or NULL.  The name may contain a NUL, so the lengths are
 * compared, too.
 */
static const struct op *find_method(struct str name)
{
	const struct op *method = method_find(name.ptr);

	return method && str_eq(name, str_of(method->name)) ? method : NULL;
}

static int call_method(struct answerer *answerer, const struct answerer_request *request,
	const char *name, struct json *out, struct str *failure, struct err *err)
{
	owned(jsonread_freep) struct jsonread *params =
		request->params.len ? jsonread_new_nearest(request->params, err) : NULL;
	owned(arena_release) struct arena arena = { 0 };
	struct method_context ctx = {
		.registry = &answerer->registry,
		.restore = answerer->source->restore,
		.arena = &arena,
		.reply_max = METHOD_REPLY_MAX - OUTER_MAX - request->id.len,
		.cancelled = answerer->cancelled,
		.arg = answerer->arg,
	};

	if (request->params.len && !params)
		return err_context(err, "'params'");
	int r = answerer->source->refresh(answerer->source->arg, &answerer->registry, err);
	if (r < 0)
		return r;
	r = method_call(&ctx, name, params, out, err);
	*failure = registry_failure(&answerer->registry);
	return r;
}

/* Returns the JSON-RPC code for an error of a method that exists. */
static enum rpc_code code_of(const struct err *err)
{
	return err->code == ERR_USAGE ? RPC_PARAMS : errcode_query(err);
}

void answerer_reply(
	struct answerer *answerer, const struct answerer_request *request, struct json *out)
{
	const struct op *method = find_method(request->method);
	struct json_mark start = json_mark(out);
	enum rpc_code code = RPC_NO_METHOD;
	struct str failure = STR("");
	struct err err = { 0 };

	if (method) {
		envelope_begin(out, request->id);
		int r = call_method(answerer, request, method->name, out, &failure, &err);
		code = code_of(&err);
		if (r >= 0 && envelope_end(out) >= 0) {
			if (json_since(out, start).len <= METHOD_REPLY_MAX)
				return;
			err_set(&err, ERR_LIMIT, "the reply is larger than %zu bytes",
				METHOD_REPLY_MAX);
			code = RPC_INTERNAL;
		}
		json_rewind(out, start);
	} else {
		owned(buf_release) struct buf shown = BUF_INIT;

		text_quote(&shown, request->method);
		err_set(&err, ERR_USAGE, "no method '%.100s'", shown.data ?: "");
		err_hint(&err, "agent_info lists the methods");
	}
	envelope_refuse(out, request->id, code, &err, failure);
}
