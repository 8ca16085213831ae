/*
 * gc - give back the space of what no node needs.
 *
 * A workspace index may speak of objects that only a restored, uncommitted
 * path needed; one that does not describe its HEAD is dropped, so the next
 * capture reads those files again instead of trusting names of objects that are gone.
 */
#include "history/reach.h"
#include "ops/requests.h"

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

static int drop_index(void *arg, const struct history_workspace *workspace, struct err *err)
{
	struct op_context *ctx = arg;
	struct arena arena = { 0 };
	struct node head;
	struct hash tree;
	int r = 0;

	if (workspace_indexed(ctx->env->rootfd, workspace->name, &tree)) {
		r = history_get(&ctx->env->history, workspace->head, &arena, &head, err);
		if (r == 0 || (r > 0 && !hash_eq(&head.tree, &tree)))
			r = workspace_forget(ctx->env->rootfd, workspace->name, err);
	}
	arena_release(&arena);
	return r < 0 ? r : 0;
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct gc_result *result = out;
	struct env *env = ctx->env;
	struct marking marking = { .ctx = ctx };
	int r = history_count(&env->history, &marking.nodes, err);

	reach_init(&marking.reach, env->store);
	if (r >= 0)
		r = history_each(&env->history, mark_node, &marking, err);
	if (r >= 0)
		r = history_workspaces(&env->history, drop_index, ctx, err);
	op_progress(ctx, "sweeping", 0, 0);
	if (r >= 0)
		r = store_sweep(env->store, is_live, &marking, &result->freed, err);
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
