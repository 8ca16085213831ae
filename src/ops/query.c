/*
 * query - answer one query method of query/, on the environment and on folders.  Parameters are
 * key=value pairs.
 *
 * The result has the members of the result object as JSON, for a face (op.h) that writes JSON
 * itself and for one that prints them for people.
 */
#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/hostquery.h"
#include "ops/op.h"
#include "ops/recovery.h"
#include "ops/requests.h"
#include "query/btrfsfamily.h"
#include "query/folders.h"
#include "query/method.h"
#include "query/strata.h"
#include "query/zfsfamily.h"

struct query_request {
	const char *method;
	struct param_texts pairs;
	const char *params;
	struct param_texts folder;
	struct param_texts allow_restore;
	struct param_texts provider;
	bool trust_mountpoints;
	struct hostquery_options host;
};

static const struct param params[] = {
	PARAM(query_request, method, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "the method to call"),
	PARAM(query_request, pairs, TEXTS, PARAM_POSITIONAL, "its parameters, each as KEY=VALUE"),
	PARAM(query_request, params, TEXT, 0, "its parameters as one JSON object"),
	PARAM(query_request, folder, TEXTS, 0,
		"also a folder of snapshots: DIR or NAME=DIR; may be given several times"),
	PARAM(query_request, allow_restore, TEXTS, 0,
		"a directory in which files may be restored; may be given several times"),
	PARAM(query_request, provider, TEXTS, 0,
		"another source of snapshots to ask: btrfs or zfs; may be given several times"),
	PARAM(query_request, trust_mountpoints, FLAG, 0,
		"do not check that a ZFS snapshot is one, for tests"),
	HOSTQUERY_PARAMS(query_request, host),
	{ 0 },
};

/*
 * Gather all parameters in one document.  A pair replaces a member of --params with the same key.
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

/* The families of snapshots that a call queries. */
struct sources {
	struct env env;
	bool has_env;
	struct strata_family strata;
	struct registry registry;
	struct restoreroots restore;
};

static void close_sources(struct sources *sources)
{
	registry_release(&sources->registry);
	restoreroots_release(&sources->restore);
	if (sources->has_env)
		env_close(&sources->env);
}

static bool has_environment(struct op_context *ctx)
{
	struct err none = { 0 };
	owned_fd int root =
		ctx->root ? at_open_given(ctx->root, O_PATH | O_DIRECTORY, 0, &none) : -1;

	return root >= 0 && at_exists(root, ENV_DATABASE);
}

static int refuse_no_root(struct err *err)
{
	owned_mem char *root = env_locate(NULL, err);

	return root ? err_set(err, ERR_NOT_FOUND, "no environment at '%s'", root) : -(int)err->code;
}

static int open_environment(struct op_context *ctx, struct sources *sources, struct err *err)
{
	struct env *env = &sources->env;
	int r;

	if (!ctx->root)
		return refuse_no_root(err);
	r = env_open(env, ctx->root, ctx->workspace, ENV_READ, "query", ctx->report, err);
	if (r < 0)
		return r;
	sources->has_env = true;
	r = recovery_run(env, ctx->report, err);
	if (r >= 0)
		r = strata_dataset(&env->history, ctx->arena, &sources->registry.main, err);
	if (r < 0)
		return r;
	strata_family_init(&sources->strata, &env->history, sources->registry.main);
	sources->strata.provider.workspace = env->row.name;
	registry_add(&sources->registry, &sources->strata.family);
	return 0;
}

static int open_folders(struct sources *sources, const struct param_texts *given, struct err *err)
{
	struct folders *folders = folders_new();

	registry_add(&sources->registry, folders_family(folders));
	for (size_t i = 0; i < given->count; i++)
		if (folders_add(folders, given->list[i], err) < 0)
			return -(int)err->code;
	return 0;
}

static int open_providers(struct sources *sources, const struct query_request *req, struct err *err)
{
	bool zfs = false;

	for (size_t i = 0; i < req->provider.count; i++) {
		const char *name = req->provider.list[i];

		if (!strcmp(name, "btrfs"))
			registry_add(&sources->registry, btrfsfamily_new());
		else if (!strcmp(name, "zfs"))
			zfs = true;
		else
			return err_set(err, ERR_USAGE, "no provider '%.80s'", name);
	}
	if (!zfs)
		return 0;
	struct family *family = zfsfamily_new(req->trust_mountpoints);
	zfsfamily_require(family);
	registry_add(&sources->registry, family); /* the last one, as zfsfamily.h says */
	return 0;
}

static int call_method(struct op_context *ctx, const struct query_request *req, const char *name,
	const struct jsonread *given, struct json *out, struct err *err)
{
	owned(close_sources) struct sources sources = { 0 };
	struct method_context method = {
		.registry = &sources.registry,
		.restore = &sources.restore,
		.arena = ctx->arena,
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < req->allow_restore.count; i++)
		r = restoreroots_add(&sources.restore, req->allow_restore.list[i], err);
	if (r < 0)
		return err_context(err, "--allow-restore");
	/* If there is no environment, only the folders are queried. */
	if (!(req->folder.count || req->provider.count) || has_environment(ctx))
		r = open_environment(ctx, &sources, err);
	if (r >= 0 && req->folder.count)
		r = open_folders(&sources, &req->folder, err);
	if (r >= 0)
		r = open_providers(&sources, req, err);
	return r < 0 ? r : method_call(&method, name, given, out, err);
}

/* The agent of the host gets the options that say which snapshots there are. */
static int call_host(struct op_context *ctx, const struct query_request *req, const char *name,
	const struct jsonread *given, struct json *out, struct err *err)
{
	struct param_texts agent = { 0 };

	hostquery_add_option(&agent, "--folder", &req->folder, ctx->arena);
	hostquery_add_option(&agent, "--provider", &req->provider, ctx->arena);
	return hostquery_call(ctx, &req->host, &agent, name, given, out, err);
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
	int r = req->host.name ? call_host(ctx, req, method->name, given, &reply, err)
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

	if (req->host.config && !req->host.name)
		return err_set(err, ERR_USAGE, "query: --config needs --host");
	if (!req->host.name || !req->allow_restore.count)
		return 0;
	return err_set(err, ERR_USAGE,
		"query: --allow-restore is for this machine; the hosts file says where a host may "
		"restore");
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
