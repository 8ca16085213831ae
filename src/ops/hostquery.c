#include "ops/hostquery.h"

#include "core/own.h"
#include "rpc/hostclient.h"

const struct hosts_host *hostquery_find(
	const struct hostquery_options *options, struct arena *arena, struct err *err)
{
	struct hosts hosts;

	if (hosts_read(options->config, arena, &hosts, err) < 0)
		return NULL;
	return hosts_find(&hosts, options->name, err);
}

void hostquery_add_option(struct param_texts *agent, const char *option,
	const struct param_texts *values, struct arena *arena)
{
	for (size_t i = 0; i < values->count; i++) {
		param_texts_add(agent, arena, option);
		param_texts_add(agent, arena, values->list[i]);
	}
}

/* Add the members of the result to the open object. */
static int write_result(struct json *out, const struct buf *text, struct err *err)
{
	owned(jsonread_freep) struct jsonread *result = jsonread_new_max(
		(struct str){ text->data ?: "", text->len }, HOSTLINK_LINE_MAX, err);

	if (result && jsonread_type(result) != JSONREAD_OBJECT)
		err_set(err, ERR_CORRUPT, "the result is not an object");
	if (!result || jsonread_type(result) != JSONREAD_OBJECT)
		return -(int)err->code;
	for (size_t i = 0; i < jsonread_count(result); i++)
		jsonread_write(out, jsonread_key(result, i).ptr, jsonread_item(result, i));
	return 0;
}

int hostquery_call(struct op_context *ctx, const struct hostquery_options *options,
	const struct param_texts *agent, const char *method, const struct jsonread *params,
	struct json *out, struct err *err)
{
	const struct hosts_host *host = hostquery_find(options, ctx->arena, err);
	struct hostlink_options link = { .agent = agent };
	owned(json_release) struct json request = JSON_INIT;
	owned(buf_release) struct buf result = { .max = HOSTLINK_LINE_MAX };
	int r;

	if (!host)
		return -(int)err->code;
	jsonread_write(&request, NULL, params);
	r = hostclient_call(host, &link, method, json_written(&request), &result, NULL, err);
	if (r < 0)
		return r;
	r = write_result(out, &result, err);
	return r < 0 ? err_context(err, "host '%s'", host->name) : r;
}
