/*
 * gc - give back the space of objects that no node needs.
 *
 * Needed objects are marked while other commands read and write.  The lock on the store is
 * exclusive only while objects are dropped, in slices of some hundred objects.  Each slice first
 * marks the nodes that were added meanwhile.  Between two slices the lock is free for so long that
 * every waiting process gets it.
 *
 * gc can recognise a live tree without a workspace, or a trace without a node, only while it holds
 * the lock exclusively.  gc renames such a directory at once, and removes it when the lock is
 * shared again.
 *
 * The index of a workspace may refer to objects that only a restored, uncommitted path needed.  An
 * index that does not describe HEAD's tree is dropped.  Without the index, the next capture reads
 * the files again, and does not rely on dropped objects.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/own.h"
#include "core/removal.h"
#include "core/when.h"
#include "history/reach.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "ops/tournamentdir.h"

#define PAUSE_MS (2 * LOCK_STEP_MS) /* pause between two slices */

static const struct param params[] = {
	PARAM(gc_request, max_layers, BYTES, 0,
		"bytes that all layers together may take from now on"),
	{ 0 },
};

struct marking {
	struct op_context *ctx;
	struct reach reach;
	/* the first node of the previous round; this node and all older nodes are marked */
	char newest[NODE_ID];
	char first[NODE_ID]; /* the first node of this round */
	uint64_t nodes, done;
};

static int mark_node(void *arg, const struct node *node, struct err *err)
{
	struct marking *marking = arg;

	if (!strcmp(node->id, marking->newest))
		return 1;
	if (!marking->first[0])
		memcpy(marking->first, node->id, sizeof(marking->first));
	int r = reach_tree(&marking->reach, &node->tree, err);

	if (!marking->newest[0])
		op_progress(marking->ctx, "marking", ++marking->done, marking->nodes);
	return r < 0 ? err_context(err, "node %s", node->id) : 0;
}

static bool is_live(void *arg, const struct object_key *key)
{
	return reach_has(&((struct marking *)arg)->reach, key);
}

/* Mark the tree below an overlay.  The live tree needs that tree even if no node has it. */
static int mark_below(struct marking *marking, const struct history_workspace *row, struct err *err)
{
	struct env *env = marking->ctx->env;
	const struct workspace_kind *kind = workspace_kind(row->backend);
	struct workspace_setup setup = env_setup(env, row->name, marking->ctx->report);
	struct hash tree;

	if (!kind || !kind->mounted)
		return 0;
	setup.backend = row->backend;
	setup.scratch = true;
	struct workspace *workspace = workspace_new(&setup, err);
	if (!workspace)
		return -(int)err->code;
	int r = workspace_open(workspace, err);
	if (r >= 0)
		r = workspace_lower_tree(workspace, &tree, err);
	if (r > 0)
		r = reach_tree(&marking->reach, &tree, err);
	workspace_free(workspace);
	return r;
}

/* Drop the index of a workspace if the index may refer to objects that this gc drops. */
static int drop_stale_index(
	struct marking *marking, const struct history_workspace *row, struct err *err)
{
	struct env *env = marking->ctx->env;
	owned(arena_release) struct arena arena = { 0 };
	const struct workspace_kind *kind = workspace_kind(row->backend);
	struct node head;
	struct hash tree;

	if (!workspace_indexed(env->rootfd, row->name, &tree))
		return 0;
	int r = history_get(&env->history, row->head, &arena, &head, err);
	/*
	 * Do not rely on the index of an overlay.  Such an index may name a tree with uncorrected
	 * links, while the node has the corrected tree (treelinks.h).
	 */
	bool in_nodes = r > 0 && hash_eq(&head.tree, &tree) && kind && !kind->mounted;
	if (r < 0 || in_nodes)
		return r;
	return workspace_forget(env->rootfd, row->name, err);
}

/*
 * Mark the nodes that are not marked yet.  history_each visits the newest node first, so a round
 * ends at the first node of the previous round.
 */
static int mark_nodes(struct marking *marking, struct err *err)
{
	marking->first[0] = '\0';
	int r = history_each(&marking->ctx->env->history, mark_node, marking, err);

	if (r >= 0 && marking->first[0])
		memcpy(marking->newest, marking->first, sizeof(marking->newest));
	return r < 0 ? r : 0;
}

static int mark_workspace(void *arg, const struct history_workspace *row, struct err *err)
{
	int r = mark_below(arg, row, err);

	if (r >= 0)
		r = drop_stale_index(arg, row, err);
	return r < 0 ? err_context(err, "workspace '%s'", row->name) : 0;
}

/* Rename a live tree without a workspace.  A killed command leaves such a live tree. */
static int sweep_stray(void *arg, int dirfd, const char *name, struct err *err)
{
	struct op_context *ctx = arg;
	struct history_workspace row;
	struct err ignored = { 0 };
	char gone[NAME_MAX + 1];
	int r = strncmp(name, REMOVAL_GONE, strlen(REMOVAL_GONE))
			? history_workspace(&ctx->env->history, name, ctx->arena, &row, err)
			: 1;

	if (r == 0 && snprintf(gone, sizeof(gone), REMOVAL_GONE "%s", name) < (int)sizeof(gone) &&
		at_rename(dirfd, name, gone, &ignored) < 0)
		(void)at_remove_tree(dirfd, name, &ignored);
	return r < 0 ? r : 0;
}

static int remove_stray(void *arg, int dirfd, const char *name, struct err *err)
{
	struct err ignored = { 0 };

	if (!strncmp(name, REMOVAL_GONE, strlen(REMOVAL_GONE)))
		(void)at_remove_tree(dirfd, name, &ignored);
	return 0;
}

static int begin_slice(void *arg, struct err *err)
{
	struct marking *marking = arg;
	struct env *env = marking->ctx->env;
	int r = env_hold(env, LOCK_EXCLUSIVE, err);

	if (r >= 0)
		r = mark_nodes(marking, err);
	if (r >= 0)
		r = history_workspaces(&env->history, mark_workspace, marking, err);
	return r;
}

static void pause_for_others(void *arg)
{
	when_pause(PAUSE_MS * WHEN_MS);
}

static void end_slice(void *arg)
{
	struct marking *marking = arg;
	struct err ignored = { 0 };

	(void)env_hold(marking->ctx->env, LOCK_SHARED, &ignored);
	pause_for_others(NULL);
}

/* Remove the files that killed commands have left outside the store. */
static int tidy_up(struct op_context *ctx, struct err *err)
{
	struct env *env = ctx->env;
	int r = env_hold(env, LOCK_EXCLUSIVE, err);

	if (r >= 0)
		r = store_seal(env->store, err);
	if (r >= 0)
		r = at_each_name(env->rootfd, WORKSPACE_LIVE_DIR, sweep_stray, ctx, err);
	if (r >= 0)
		r = nodetrace_sweep(env, err);
	if (r >= 0)
		r = env_hold(env, LOCK_SHARED, err);
	/*
	 * No other command uses the renamed directories, so they can be removed while other
	 * commands use the store.
	 */
	if (r >= 0)
		r = at_each_name(env->rootfd, WORKSPACE_LIVE_DIR, remove_stray, NULL, err);
	if (r >= 0)
		r = nodetrace_remove(env, err);
	if (r >= 0)
		r = tournamentdir_sweep(ctx, err);
	return r < 0 ? r : workspace_sweep(env->rootfd, env->store, err);
}

static int collect(struct marking *marking, struct gc_result *result, struct err *err)
{
	struct op_context *ctx = marking->ctx;
	struct env *env = ctx->env;
	const struct store_sweeper sweeper = {
		.live = is_live, .begin = begin_slice, .end = end_slice, .arg = marking
	};
	int r = tidy_up(ctx, err);

	if (r >= 0)
		r = history_count(&env->history, &marking->nodes, err);
	if (r >= 0)
		r = mark_nodes(marking, err);
	op_progress(ctx, "sweeping", 0, 0);
	if (r >= 0)
		r = store_sweep(env->store, &sweeper, &result->freed, err);
	if (r >= 0) {
		db_checkpoint(env->db);
		db_shrink(env->db, pause_for_others, NULL);
	}
	return r;
}

static int do_gc(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct gc_request *req = request;
	struct gc_result *result = out;
	struct env *env = ctx->env;
	struct usage before, after;
	struct marking marking = { .ctx = ctx };
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	/*
	 * Take ENV_GC_LOCK, because a second gc would change the sizes that this gc counts.  Repair
	 * takes ENV_GC_LOCK before the lock of the store.  To keep that order, release the lock of
	 * the store first.
	 */
	close_fd(&env->locks[1]);
	owned_fd int alone = lock_take(run, ENV_GC_LOCK, LOCK_EXCLUSIVE, ENV_WAIT_MS, "gc", err);
	if (alone < 0)
		return err_context(err, "the packs");
	uint64_t database = usage_database(env);
	int r = usage_look(env, true, &before, err);
	if (r >= 0 && req->max_layers)
		r = workspace_limit_layers(env->rootfd, req->max_layers, err);
	if (r < 0)
		return r;
	reach_init(&marking.reach, env->store);
	r = collect(&marking, result, err);
	reach_release(&marking.reach);
	op_progress(ctx, NULL, 0, 0);
	if (r >= 0)
		r = usage_look(env, true, &after, err);
	if (r < 0)
		return r;
	result->less = usage_less(&before, &after);
	result->database = usage_database(env);
	result->database_freed = usage_fewer(database, result->database);
	return store_stats(env->store, &result->store, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct gc_result *res = result;

	shape_stats(out, "freed", &res->freed);
	shape_stats(out, "store", &res->store);
	usage_json(out, "disk_freed", &res->less);
	json_open(out, "database", '{');
	json_uint(out, "bytes", res->database);
	json_uint(out, "freed", res->database_freed);
	json_close(out);
}

static bool gives_room_back(const void *request)
{
	return true;
}

const struct op op_gc = {
	.name = "gc",
	.summary = "give back the space of what no node needs",
	.advice = "Frees the space of nodes that were deleted or thinned out. History that "
		  "still exists is untouched.",
	.flags = OP_WRITES | OP_DESTROYS | OP_REPEATABLE,
	.access = ENV_FORK,
	.frees = gives_room_back,
	.params = params,
	.request_size = sizeof(struct gc_request),
	.result_size = sizeof(struct gc_result),
	.result = "freed:" SHAPE_STATS "store:" SHAPE_STATS "disk_freed:" USAGE_SHAPE
		  "database:{bytes:int freed:int}",
	.run = do_gc,
	.result_json = result_json,
};
