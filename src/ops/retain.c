/* retain - apply retention: delete a part of the old nodes. */
#include <stdlib.h>

#include "core/mem.h"
#include "core/when.h"
#include "ops/requests.h"

static const struct param params[] = {
	PARAM(retain_request, keep, COUNT, 0, "nodes of each HEAD to keep; 200 unless given"),
	PARAM(retain_request, max_bytes, BYTES, 0,
		"then drop more until the rest needs at most so much"),
	PARAM(retain_request, dry_run, FLAG, 0, "only tell what would be dropped"),
	{ 0 },
};

/*
 * The nodes that were dropped.  Their rows are emitted after the transaction.  Otherwise a slow
 * reader of the rows would keep the transaction open.
 */
struct dropping {
	struct arena *arena;
	struct node *nodes;
	size_t n, cap;
};

static int note_dropped(void *arg, const struct node *node, struct err *err)
{
	struct dropping *dropping = arg;
	struct node *copy;

	mem_grow(&dropping->nodes, &dropping->cap, dropping->n);
	copy = &dropping->nodes[dropping->n++];
	*copy = *node;
	copy->message = arena_str(dropping->arena, node->message);
	copy->n_command = copy->n_paths = 0;
	return 0;
}

static int do_retain(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct retain_request *req = request;
	struct dropping dropping = { .arena = ctx->arena };
	struct retention_options options = {
		.keep = req->keep ? (uint64_t)req->keep : RETENTION_KEEP,
		.max_bytes = req->max_bytes,
		.now = when_now(),
		.dry_run = req->dry_run,
	};
	int r = retention_run(&ctx->env->history, &options, note_dropped, &dropping, out, err);

	for (size_t i = 0; r >= 0 && i < dropping.n; i++) {
		struct noderow row = { .node = &dropping.nodes[i] };

		r = op_emit(ctx, &row, err);
	}
	free(dropping.nodes);
	return r;
}

static void result_json(struct json *out, const void *result)
{
	const struct retention_result *res = result;

	json_uint(out, "kept", res->kept);
	json_uint(out, "dropped_count", res->dropped);
	json_bool(out, "over_limit", res->over_limit);
}

static enum env_access access_for(const void *request)
{
	return ((const struct retain_request *)request)->dry_run ? ENV_READ : ENV_STORE;
}

const struct op op_retain = {
	.name = "retain",
	.summary = "apply retention: thin out old history",
	.advice = "Drops old nodes for good, as the retention rules say. Call it with "
		  "'dry_run' first.",
	.access_for = access_for,
	.flags = OP_WRITES | OP_DESTROYS | OP_REPEATABLE,
	.access = ENV_STORE,
	.params = params,
	.request_size = sizeof(struct retain_request),
	.result_size = sizeof(struct retention_result),
	.rows = "dropped",
	.row = "{" NODEROW_SHAPE "}",
	.result = "kept:int dropped_count:int over_limit:bool",
	.run = do_retain,
	.row_json = noderow_json,
	.result_json = result_json,
};
