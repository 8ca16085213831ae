/*
 * query - one method of query/, called with key=value pairs.
 *
 * The result is JSON for every face (op.h).  A face that writes JSON itself gets the members of the
 * result object; otherwise one compact line goes into the data sink.
 */

#include "core/own.h"
#include "ops/op.h"
#include "query/method.h"
#include "query/strata.h"

struct query_request {
	const char *method;
	struct param_texts pairs;
	const char *params;
};

struct query_result {
	struct str members; /* laid out for an object that is indented by two */
};

static const struct param params[] = {
	PARAM(query_request, method, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "the method to call"),
	PARAM(query_request, pairs, TEXTS, PARAM_POSITIONAL, "its parameters, each as KEY=VALUE"),
	PARAM(query_request, params, TEXT, 0, "its parameters as one JSON object"),
	{ 0 },
};

/* Gather all parameters in one document.  A pair wins over a member of --params. */
static struct jsonread *join_params(
	const struct query_request *req, const struct op *method, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	owned(jsonread_freep) struct jsonread *whole = NULL;

	if (req->params) {
		whole = jsonread_new(str_of(req->params), err);
		if (whole && jsonread_type(whole) != JSONREAD_OBJECT)
			err_set(err, ERR_INVALID, "not a JSON object");
		if (!whole || jsonread_type(whole) != JSONREAD_OBJECT) {
			err_context(err, "--params");
			return NULL;
		}
	}
	json_open(&out, NULL, '{');
	for (size_t i = 0; whole && i < jsonread_count(whole); i++)
		jsonread_write(&out, jsonread_key(whole, i).ptr, jsonread_item(whole, i));
	if (param_add_pairs(method->name, method->params, &req->pairs, &out, err) < 0)
		return NULL;
	json_close(&out);
	return jsonread_new(json_written(&out), err);
}

static int call_method(struct op_context *ctx, const char *name, const struct jsonread *given,
	struct json *out, struct err *err)
{
	owned(registry_release) struct registry registry = { 0 };
	struct strata_family strata;
	struct method_context method = { .registry = &registry, .arena = ctx->arena };
	int r = strata_dataset(&ctx->env->history, ctx->arena, &registry.main, err);

	if (r < 0)
		return r;
	strata_family_init(&strata, &ctx->env->history, registry.main);
	strata.provider.workspace = ctx->env->row.name;
	registry_add(&registry, &strata.family);
	return method_call(&method, name, given, out, err);
}

static int do_query(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct query_request *req = request;
	struct query_result *result = out;
	const struct op *method = method_find(req->method);
	owned(json_release) struct json reply = JSON_INIT;

	if (!method) {
		err_set(err, ERR_USAGE, "no method '%.100s'", req->method);
		return err_hint(err, "'strata query agent_info' lists them");
	}
	owned(jsonread_freep) struct jsonread *given = join_params(req, method, err);
	if (!given)
		return -(int)err->code;
	reply.pretty = !ctx->data;
	json_open(&reply, NULL, '{');
	struct json_mark start = json_mark(&reply);
	int r = call_method(ctx, method->name, given, &reply, err);
	if (r < 0)
		return r;
	result->members = arena_str(ctx->arena, json_since(&reply, start));
	json_close(&reply);
	if (json_end(&reply) < 0)
		return err_set(err, ERR_LIMIT, "the reply is too large");
	struct str text = json_written(&reply);
	return ctx->data ? ctx->data(ctx->arg, text.ptr, text.len, err) : 0;
}

/* Add the members to the open object as they are, since they are JSON already. */
static void result_json(struct json *out, const void *result)
{
	const struct query_result *res = result;

	if (res->members.len)
		json_members(out, res->members);
}

const struct op op_query = {
	.name = "query",
	.summary = "ask the history by a method of the query agent",
	.flags = OP_LOCAL,
	.access = ENV_READ,
	.params = params,
	.request_size = sizeof(struct query_request),
	.result_size = sizeof(struct query_result),
	.run = do_query,
	.result_json = result_json,
};
