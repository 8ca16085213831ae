/* log - list the nodes, newest first. */

#include "core/own.h"
#include "core/when.h"
#include "ops/refview.h"
#include "ops/requests.h"
#include "tree/treeiter.h"

static const struct param params[] = {
	PARAM(log_request, ref, TEXT, PARAM_POSITIONAL, "only this node and those it derives from"),
	PARAM(log_request, limit, COUNT, 0, "at most this many nodes", .letter = 'n'),
	PARAM(log_request, path, TEXT, 0,
		"only nodes that differ from their parent at this path or below it"),
	PARAM(log_request, since, TEXT, 0, "only nodes made at this time or later"),
	PARAM(log_request, graph, FLAG, 0, "draw the lines of descent"),
	{ 0 },
};

struct listing {
	struct op_context *ctx;
	const char *path;
	int64_t since;
	int64_t left; /* number of nodes that are still to be listed; 0: no limit */
	struct treeiter iter;
};

/* Find the entry at the path in a tree.  Returns 1, or 0 if the tree does not have the path. */
static int entry_in(struct listing *listing, const struct hash *tree, struct arena *arena,
	struct entry *entry, struct err *err)
{
	int r = treeiter_path(&listing->iter, tree, str_of(listing->path), entry, err);

	if (r > 0) {
		entry->name = STR("");
		entry->target = arena_str(arena, entry->target);
	}
	return r;
}

/* Whether node differs from its parent at the path. */
static int touches_path(struct listing *listing, const struct node *node, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct entry now, before;
	struct node parent;
	int had = 0;
	int has = entry_in(listing, &node->tree, &arena, &now, err);

	if (has < 0)
		return has;
	if (node->parent[0]) {
		int r = history_get(
			&listing->ctx->env->history, node->parent, &arena, &parent, err);

		if (r > 0)
			had = entry_in(listing, &parent.tree, &arena, &before, err);
		if (r < 0 || had < 0)
			return r < 0 ? r : had;
	}
	if (!has || !had)
		return has != had;
	return !entry_same(&now, &before);
}

static int list_node(void *arg, const struct node *node, struct err *err)
{
	struct listing *listing = arg;
	int r;

	if (node->time < listing->since)
		return 0;
	if (listing->path) {
		r = touches_path(listing, node, err);
		if (r <= 0)
			return r;
	}
	r = noderow_emit(listing->ctx, node, err);
	if (r >= 0 && listing->left && !--listing->left)
		return 1;
	return r;
}

static int do_log(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct log_request *req = request;
	struct listing listing = { .ctx = ctx, .left = req->limit, .since = INT64_MIN };
	struct ref ref;
	int r;

	if (req->path)
		listing.path = refview_path(ctx, str_of(req->path)).ptr;
	if (req->since && when_parse(req->since, when_now(), &listing.since, err) < 0)
		return err_context(err, "--since");
	treeiter_init(&listing.iter, ctx->env->store);
	if (req->ref) {
		r = env_resolve(ctx->env, req->ref, &ref, err);
		if (r >= 0)
			r = history_ancestors(&ctx->env->history, ref.id, list_node, &listing, err);
	} else {
		r = history_each(&ctx->env->history, list_node, &listing, err);
	}
	treeiter_release(&listing.iter);
	return r;
}

const struct op op_log = {
	.name = "log",
	.summary = "the nodes, newest first",
	.advice = "Give 'limit' to keep the result short. Each node has an id, a time, a "
		  "message and the paths that it changed.",
	.access = ENV_READ,
	.params = params,
	.request_size = sizeof(struct log_request),
	.rows = "nodes",
	.row = "{" NODEROW_SHAPE "}",
	.run = do_log,
	.row_json = noderow_json,
};
