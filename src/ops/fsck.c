/* fsck - check the store and the history, and on request repair the damage that can be repaired. */
#include <stdio.h>

#include "history/verify.h"
#include "ops/requests.h"

#define LAYER_TEXT_MAX 64

static const struct param params[] = {
	PARAM(fsck_request, repair, FLAG, 0, "repair what can be repaired"),
	{ 0 },
};

struct checking {
	struct op_context *ctx;
	uint64_t bad_layers;
	struct err err;
};

static void emit_error(void *arg, const struct verify_error *error)
{
	struct checking *checking = arg;

	if (!checking->err.code)
		(void)op_emit(checking->ctx, error, &checking->err);
}

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
	op_progress(((struct checking *)arg)->ctx, "checking", done, total);
}

static int check_history(
	struct op_context *ctx, bool quiet, struct fsck_result *result, struct err *err)
{
	struct checking checking = { .ctx = ctx };
	struct verify verify = {
		.error = quiet ? NULL : emit_error,
		.progress = show_progress,
		.arg = &checking,
	};
	/*
	 * Read one snapshot of the database for the whole check, because other commands may commit
	 * meanwhile.
	 */
	int r = db_exec(ctx->env->db, "BEGIN", err);

	if (r >= 0)
		r = verify_run(&ctx->env->history, &verify, err);
	db_rollback(ctx->env->db);
	op_progress(ctx, NULL, 0, 0);
	if (r < 0)
		return r;
	if (checking.err.code) {
		*err = checking.err;
		return -(int)err->code;
	}
	result->ok = !verify.errors;
	result->errors = verify.errors;
	result->objects = verify.objects;
	result->nodes = verify.nodes;
	result->bytes = verify.bytes;
	return 0;
}

static void emit_bad_layer(void *arg, unsigned layer)
{
	struct checking *checking = arg;
	char what[LAYER_TEXT_MAX];
	struct verify_error error = { .what = what };

	snprintf(what, sizeof(what), "layer %u: its files are not those of its tree", layer);
	checking->bad_layers++;
	emit_error(checking, &error);
}

/*
 * Check the layers below live trees.  The history does not need the layers, but the live trees do.
 * The check needs the lock on the store, because other commands may change the layers meanwhile.
 */
static int check_layers(struct op_context *ctx, bool repairs, uint64_t *bad, struct err *err)
{
	struct env *env = ctx->env;
	struct checking checking = { .ctx = ctx };

	*bad = 0;
	if (!env->kind || !env->kind->mounted || env->locks[1] < 0)
		return 0;
	int r = env_enter(env, false, err);
	const struct workspace_setup setup = env_setup(env, env->row.name, ctx->report);
	if (r >= 0)
		r = workspace_prove(&setup, repairs, emit_bad_layer, &checking, err);
	*bad = checking.bad_layers;
	if (r >= 0 && checking.err.code) {
		*err = checking.err;
		r = -(int)err->code;
	}
	return r;
}

/*
 * Remove the index of a workspace, because the index may refer to objects that were dropped.
 * Without an index, the next capture stores these objects again.
 */
static int forget_index(void *arg, const struct history_workspace *workspace, struct err *err)
{
	struct op_context *ctx = arg;

	return workspace_forget(ctx->env->rootfd, workspace->name, err);
}

static int repair(struct op_context *ctx, struct fsck_result *result, struct err *err)
{
	struct history *history = &ctx->env->history;
	int r = store_repair(ctx->env->store, &result->rescued, &result->dropped, err);

	if (r >= 0)
		r = history_recount(history, err);
	if (r >= 0 && result->dropped)
		r = history_workspaces(history, forget_index, ctx, err);
	return r;
}

static int do_fsck(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct fsck_request *req = request;
	struct fsck_result *result = out;
	int r = check_history(ctx, false, result, err);

	if (r >= 0)
		r = check_layers(ctx, req->repair, &result->layers, err);
	if (r < 0)
		return r;
	result->repaired = req->repair && (!result->ok || result->layers);
	if (result->ok || !req->repair) {
		result->ok &= req->repair || !result->layers;
		result->errors += req->repair ? 0 : result->layers;
		return 0;
	}
	op_progress(ctx, "repairing", 0, 0);
	r = repair(ctx, result, err);
	/*
	 * The rows are the errors that were found.  The result counts the errors that are left
	 * after the repair.
	 */
	return r < 0 ? r : check_history(ctx, true, result, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct verify_error *error = row;

	json_text(out, "what", error->what);
	json_open(out, "nodes", '[');
	for (size_t i = 0; i < error->n_nodes; i++)
		json_text(out, NULL, error->nodes[i]);
	json_close(out);
	json_uint(out, "total_nodes", error->total_nodes);
}

static void result_json(struct json *out, const void *result)
{
	const struct fsck_result *res = result;

	json_bool(out, "ok", res->ok);
	json_open(out, "checked", '{');
	json_uint(out, "objects", res->objects);
	json_uint(out, "nodes", res->nodes);
	json_uint(out, "bytes", res->bytes);
	json_close(out);
	if (res->repaired) {
		json_open(out, "repair", '{');
		json_uint(out, "rescued", res->rescued);
		json_uint(out, "dropped", res->dropped);
		json_uint(out, "layers", res->layers);
		json_uint(out, "errors_left", res->errors);
		json_close(out);
	}
}

/*
 * A check without repair shares the lock on the store.  So gc has to wait, and other commands can
 * work.
 */
static enum env_access access_for(const void *request)
{
	return ((const struct fsck_request *)request)->repair ? ENV_MAINTAIN : ENV_STORE;
}

const struct op op_fsck = {
	.name = "fsck",
	.summary = "prove the store and the history",
	.flags = OP_WRITES | OP_ELSE_READ,
	.access = ENV_MAINTAIN,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct fsck_request),
	.result_size = sizeof(struct fsck_result),
	.rows = "errors",
	.row = "{what:text nodes:[text] total_nodes:int}",
	.result = "ok:bool checked:{objects:int nodes:int bytes:int} "
		  "repair?:{rescued:int dropped:int layers:int errors_left:int}",
	.run = do_fsck,
	.row_json = row_json,
	.result_json = result_json,
};
