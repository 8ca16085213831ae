/*
 * query - call one query method of query/, which searches the environment and other snapshots.
 * Parameters are key=value pairs.
 *
 * The result has the members of the method's result object as JSON.  A face (op.h) writes this JSON
 * or prints the members for people.
 */
#include "core/own.h"
#include "ops/hostquery.h"
#include "ops/op.h"
#include "ops/querysources.h"
#include "ops/requests.h"
#include "query/method.h"

struct query_request {
	const char *method;
	struct param_texts pairs;
	const char *params;
	struct families_options families;
	struct hostquery_options host;
};

static const struct param params[] = {
	PARAM(query_request, method, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "the method to call"),
	PARAM(query_request, pairs, TEXTS, PARAM_POSITIONAL, "its parameters, each as KEY=VALUE"),
	PARAM(query_request, params, TEXT, 0, "its parameters as one JSON object"),
	FAMILIES_PARAMS(query_request, families),
	HOSTQUERY_PARAMS(query_request, host),
	{ 0 },
};

/*
 * Gather all parameters in one document.  If a key=value pair and --params give the same key, the
 * value of the pair is used.
 */
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

static int call_method(struct op_context *ctx, const struct query_request *req, const char *name,
	const struct jsonread *given, struct json *out, struct err *err)
{
	owned(querysources_close) struct querysources sources = { 0 };
	owned(registry_release) struct registry registry = { 0 };
	struct method_context method = {
		.registry = &registry,
		.restore = &sources.restore,
		.arena = ctx->arena,
	};
	int r = querysources_init(&sources, ctx, &req->families, err);

	if (r >= 0)
		r = querysources_open(&sources, &registry, err);
	return r < 0 ? r : method_call(&method, name, given, out, err);
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
	reply.pretty = true;
	json_open(&reply, NULL, '{');
	struct json_mark start = json_mark(&reply);
	int r = req->host.name ? hostquery_call(ctx, &req->host, &req->families, method->name,
					 given, &reply, err)
			       : call_method(ctx, req, method->name, given, &reply, err);
	if (r < 0)
		return r;
	result->method = method;
	result->members = arena_str(ctx->arena, json_since(&reply, start));
	json_close(&reply);
	return json_end(&reply) < 0 ? err_set(err, ERR_LIMIT, "the reply is too large") : 0;
}

/* Add the members to the open object as they are, since they are JSON already. */
static void result_json(struct json *out, const void *result)
{
	const struct query_result *res = result;

	if (res->members.len)
		json_members(out, res->members);
}

static int check(const void *request, struct err *err)
{
	const struct query_request *req = request;

	return hostquery_check("query", &req->host, &req->families, err);
}

const struct op op_query = {
	.name = "query",
	.summary = "ask the history by a method of the query agent",
	.flags = OP_LOCAL | OP_NO_ENV | OP_ANYWHERE,
	.params = params,
	.request_size = sizeof(struct query_request),
	.result_size = sizeof(struct query_result),
	.check = check,
	.run = do_query,
	.result_json = result_json,
};
