#include "ops/hostquery.h"

#include "core/own.h"
#include "rpc/hostclient.h"
#include "rpc/hostrelay.h"

const struct hosts_host *hostquery_find(
	const struct hostquery_options *options, struct arena *arena, struct err *err)
{
	struct hosts hosts;

	if (hosts_read(options->config, arena, &hosts, err) < 0)
		return NULL;
	return hosts_find(&hosts, options->name, err);
}

int hostquery_check(const char *command, const struct hostquery_options *options,
	const struct families_options *families, struct err *err)
{
	int r = families_check(families, err);

	if (r < 0)
		return r;
	if (options->config && !options->name)
		return err_set(err, ERR_USAGE, "%s: --config needs --host", command);
	if (options->name && families->restore.count)
		return err_set(err, ERR_USAGE,
			"%s: --allow-restore is for this machine; the hosts file says where a host "
			"may restore",
			command);
	return 0;
}

/* Add an option of the agent once for each of its values. */
static void add_option(struct param_texts *agent, const char *option,
	const struct param_texts *values, struct arena *arena)
{
	for (size_t i = 0; i < values->count; i++) {
		param_texts_add(agent, arena, option);
		param_texts_add(agent, arena, values->list[i]);
	}
}

/* Returns the options that the host's agent is started with. */
static struct param_texts make_options(const struct families_options *families, struct arena *arena)
{
	struct param_texts agent = { 0 };

	add_option(&agent, "--provider", &families->providers, arena);
	add_option(&agent, "--folder", &families->folders, arena);
	if (families->trust_mountpoints)
		param_texts_add(&agent, arena, "--trust-mountpoints");
	return agent;
}

/* Parse the result in 'text', and add its members to the object that is open in 'out'. */
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
	const struct families_options *families, const char *method, const struct jsonread *params,
	struct json *out, struct err *err)
{
	const struct hosts_host *host = hostquery_find(options, ctx->arena, err);
	struct param_texts agent = make_options(families, ctx->arena);
	struct hostlink_options link = { .agent = &agent };
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

int hostquery_relay(struct op_context *ctx, const struct hostquery_options *options,
	const struct families_options *families, struct err *err)
{
	const struct hosts_host *host = hostquery_find(options, ctx->arena, err);
	struct param_texts agent = make_options(families, ctx->arena);
	struct hostlink_options link = { .agent = &agent };

	return host ? hostrelay_run(host, &link, ctx->notice, ctx->arg, err) : -(int)err->code;
}
