/*
 * gc - give back the space of what no node needs.
 *
 * What is needed is found out while others read and write.  Only to forget objects, some
 * hundreds at a time, is the store held alone, each time after marking what came meanwhile.
 * Between two such slices it is free for long enough that everybody who waits gets in.  What has
 * to be decided with the store held alone and takes long, such as to remove a tree, is only
 * renamed then.
 *
 * A workspace index may speak of objects that only a restored, uncommitted
 * path needed; one that does not describe its HEAD is dropped, so the next
 * capture reads those files again instead of trusting names of objects that are gone.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/own.h"
#include "core/removal.h"
#include "history/reach.h"
#include "ops/requests.h"
#include "ops/tournamentdir.h"

#define PAUSE_MS (2 * LOCK_STEP_MS) /* between two slices */

static const struct param params[] = {
	PARAM(gc_request, max_layers, BYTES, 0,
		"bytes that all layers together may take from now on"),
	{ 0 },
};

struct marking {
	struct op_context *ctx;
	struct reach reach;
	char newest[NODE_ID]; /* of the last round: it and what is older is marked */
	char first[NODE_ID];  /* of this round */
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

/* What a live tree stands on must stay, whether a node still has it or not. */
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

/* An index that speaks of objects that will be gone must go, too. */
static int mark_index(struct marking *marking, const struct history_workspace *row, struct err *err)
{
	struct env *env = marking->ctx->env;
	owned(arena_release) struct arena arena = { 0 };
	const struct workspace_kind *kind = workspace_kind(row->backend);
	struct node head;
	struct hash tree;

	if (!workspace_indexed(env->rootfd, row->name, &tree))
		return 0;
	int r = history_get(&env->history, row->head, &arena, &head, err);
	/* Of a layer, also trees from before links were settled are in it, which no node has. */
	bool in_nodes = r > 0 && hash_eq(&head.tree, &tree) && kind && !kind->mounted;
	if (r < 0 || in_nodes)
		return r;
	return workspace_forget(env->rootfd, row->name, err);
}

/* Newest first, so that a further round ends where the last one began. */
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
		r = mark_index(arg, row, err);
	return r < 0 ? err_context(err, "workspace '%s'", row->name) : 0;
}

/* A live tree whose workspace was deleted, or never came to be, by a command that was killed. */
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
	(void)arg, (void)err;
	struct err ignored = { 0 };

	if (!strncmp(name, REMOVAL_GONE, strlen(REMOVAL_GONE)))
		(void)at_remove_tree(dirfd, name, &ignored);
	return 0;
}

static int begin(void *arg, struct err *err)
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
	(void)arg;
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	nanosleep(&pause, NULL);
}

static void end(void *arg)
{
	struct marking *marking = arg;
	struct err ignored = { 0 };

	(void)env_hold(marking->ctx->env, LOCK_SHARED, &ignored);
	pause_for_others(NULL);
}

/* What commands that were killed left behind beside the store. */
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
	/* What nobody can come back to needs no lock but those of its own. */
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
		.live = is_live, .begin = begin, .end = end, .arg = marking
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
	/* Another one would move what we have counted.  Repair has this lock before the store's. */
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

#define STATS_SHAPE "{bytes:int raw_bytes:int objects:int} "

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
	usage_json(out, "disk_freed", &res->less);
	json_open(out, "database", '{');
	json_uint(out, "bytes", res->database);
	json_uint(out, "freed", res->database_freed);
	json_close(out);
}

const struct op op_gc = {
	.name = "gc",
	.summary = "give back the space of what no node needs",
	.flags = OP_WRITES | OP_DESTROYS,
	.access = ENV_FORK,
	.params = params,
	.request_size = sizeof(struct gc_request),
	.result_size = sizeof(struct gc_result),
	.result = "freed:" STATS_SHAPE "store:" STATS_SHAPE "disk_freed:" USAGE_SHAPE
		  "database:{bytes:int freed:int}",
	.run = do_gc,
	.result_json = result_json,
};
