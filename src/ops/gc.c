/*
 * gc - give back the space of what no node needs.
 *
 * A workspace index may speak of objects that only a restored, uncommitted
 * path needed; one that does not describe its HEAD is dropped, so the next
 * capture reads those files again instead of trusting names of objects that are gone.
 */
#include <fcntl.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "history/reach.h"
#include "ops/requests.h"
#include "ops/venue.h"

static const struct op_param params[] = {
	{ NULL, 0, 0, 0, 0 },
};

struct marking {
	struct op_context *ctx;
	struct reach reach;
	uint64_t nodes, done;
};

static int mark_node(void *arg, const struct node *node, struct err *err)
{
	struct marking *marking = arg;
	int r = reach_tree(&marking->reach, &node->tree, err);

	op_progress(marking->ctx, "marking", ++marking->done, marking->nodes);
	return r < 0 ? err_context(err, "node %s", node->id) : 0;
}

static bool is_live(void *arg, const struct object_key *key)
{
	return reach_has(&((struct marking *)arg)->reach, key);
}

/* What a live tree stands on must stay, whether a node still has it or not. */
static int mark_below(struct marking *marking, const struct history_workspace *row, struct err *err)
{
	struct env *env = marking->ctx->env;
	struct workspace workspace;
	struct hash tree;
	int r;

	env_workspace(env, row->name, &workspace, marking->ctx->report);
	workspace.backend = workspace_backend(row->backend);
	if (!workspace.backend || !workspace.backend->mounted)
		return 0;
	workspace.scratch = true;
	r = workspace_open(&workspace, err);
	if (r >= 0)
		r = workspace.backend->below(&workspace, &tree, err);
	if (r > 0)
		r = reach_tree(&marking->reach, &tree, err);
	workspace_close(&workspace);
	return r;
}

/* An index that speaks of objects that will be gone must go, too. */
static int mark_index(struct marking *marking, const struct history_workspace *row, struct err *err)
{
	struct env *env = marking->ctx->env;
	owned(arena_release) struct arena arena = { 0 };
	const struct workspace_backend *backend = workspace_backend(row->backend);
	struct node head;
	struct hash tree;

	if (!workspace_indexed(env->rootfd, row->name, &tree))
		return 0;
	int r = history_get(&env->history, row->head, &arena, &head, err);
	/* Of a layer, also trees from before links were settled are in it, which no node has. */
	bool in_nodes = r > 0 && hash_eq(&head.tree, &tree) && backend && !backend->mounted;
	if (r < 0 || in_nodes)
		return r;
	return workspace_forget(env->rootfd, row->name, err);
}

static int mark_workspace(void *arg, const struct history_workspace *row, struct err *err)
{
	int r = mark_below(arg, row, err);

	if (r >= 0)
		r = mark_index(arg, row, err);
	return r < 0 ? err_context(err, "workspace '%s'", row->name) : 0;
}

/* A live tree whose workspace was deleted, or never came to be, by a command that was killed. */
static int sweep_stray(void *arg, int dirfd, const char *name, struct err *err)
{
	struct op_context *ctx = arg;
	struct history_workspace row;
	struct err ignored = { 0 };
	int r = history_workspace(&ctx->env->history, name, ctx->arena, &row, err);

	if (r == 0)
		(void)at_remove_tree(dirfd, name, &ignored);
	return r;
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct gc_result *result = out;
	struct env *env = ctx->env;
	struct marking marking = { .ctx = ctx };
	int r = venue_sweep(ctx, err);

	if (r >= 0)
		r = history_count(&env->history, &marking.nodes, err);
	reach_init(&marking.reach, env->store);
	if (r >= 0)
		r = history_each(&env->history, mark_node, &marking, err);
	if (r >= 0)
		r = history_workspaces(&env->history, mark_workspace, &marking, err);
	op_progress(ctx, "sweeping", 0, 0);
	if (r >= 0)
		r = store_sweep(env->store, is_live, &marking, &result->freed, err);
	if (r >= 0)
		r = at_each_name(env->rootfd, WORKSPACE_LIVE_DIR, sweep_stray, ctx, err);
	if (r >= 0)
		r = workspace_sweep(env->rootfd, err);
	if (r >= 0)
		db_checkpoint(env->db);
	reach_release(&marking.reach);
	op_progress(ctx, NULL, 0, 0);
	return r < 0 ? r : store_stats(env->store, &result->store, err);
}

static void stats_json(struct json *out, const char *name, const struct store_stats *stats)
{
	json_open(out, name, '{');
	json_uint(out, "bytes", stats->bytes);
	json_uint(out, "raw_bytes", stats->raw_bytes);
	json_uint(out, "objects", stats->objects);
	json_close(out);
}

static void result_json(struct json *out, const void *result)
{
	const struct gc_result *res = result;

	stats_json(out, "freed", &res->freed);
	stats_json(out, "store", &res->store);
}

const struct op op_gc = {
	.name = "gc",
	.flags = OP_WRITES,
	.access = ENV_MAINTAIN,
	.params = params,
	.result_size = sizeof(struct gc_result),
	.run = run,
	.result_json = result_json,
};
