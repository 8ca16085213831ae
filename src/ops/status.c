/*
 * status - describe the environment on one screen.  The live tree is scanned, but the store is
 * never walked.
 */
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/newnode.h"
#include "ops/progress.h"
#include "ops/requests.h"
#include "ops/shape.h"

#define SHOWN_PATHS 20

struct dirty {
	struct op_context *ctx;
	struct status_result *result;
	struct node_path *paths;
};

static int note_dirty(void *arg, const struct treediff_change *change, struct err *err)
{
	struct dirty *dirty = arg;
	struct status_result *result = dirty->result;

	result->dirty++;
	if (result->n_paths < SHOWN_PATHS)
		dirty->paths[result->n_paths++] = (struct node_path){
			.op = change->op,
			.path = arena_str(dirty->ctx->arena, change->path),
			.new_path = arena_str(dirty->ctx->arena, change->new_path),
		};
	return 0;
}

static void note_degraded(struct status_result *result, const char *what)
{
	if (result->n_degraded < sizeof(result->degraded) / sizeof(result->degraded[0]))
		result->degraded[result->n_degraded++] = what;
}

static int count_tag(void *arg, const char *name, const char *id, struct err *err)
{
	++*(uint64_t *)arg;
	return 0;
}

static int compare_work(struct op_context *ctx, struct status_result *result, struct err *err)
{
	struct env *env = ctx->env;
	struct treediff_options options = { .renames = true };
	struct dirty dirty = { .ctx = ctx, .result = result };
	struct progress shown;
	struct hash tree;

	dirty.paths = arena_alloc(ctx->arena, SHOWN_PATHS * sizeof(*dirty.paths));
	result->paths = dirty.paths;
	progress_begin(&shown, ctx, "scanning");
	int r = env_capture(env, &tree, err);
	progress_end(&shown);
	return r < 0 ? r
		     : treediff_run(env->store, &result->head.tree, &tree, &options, note_dirty,
			       &dirty, &result->changes, err);
}

/* Find the path of the live tree.  The live tree of an overlay has no path outside the sandbox. */
static int find_live(struct op_context *ctx, struct status_result *result, struct err *err)
{
	if (ctx->env->kind->mounted)
		return 0;
	owned_mem char *live = at_path_of(workspace_live(ctx->env->workspace), err);
	if (!live)
		return -(int)err->code;
	result->work_path = arena_strdup(ctx->arena, live);
	return 0;
}

/*
 * Find out whether other programs have changed the base.  They can do this if the base is used in
 * place, because it is then a directory outside of the environment.
 */
static int find_drift(struct op_context *ctx, struct status_result *result, struct err *err)
{
	struct treediff_options options = { .renames = false };
	struct treediff_counts counts = { 0 };
	struct hash was, now;
	int r = workspace_drift(ctx->env->workspace, &was, &now, err);

	if (r <= 0)
		return r;
	r = treediff_run(ctx->env->store, &was, &now, &options, NULL, NULL, &counts, err);
	result->drift = counts.added + counts.modified + counts.deleted;
	note_degraded(result,
		arena_printf(ctx->arena,
			"'%s', which lies below the live tree, was changed from outside: %llu "
			"entries are not what the history says",
			ctx->env->row.path, (unsigned long long)result->drift));
	return r;
}

/* List the programs and their binds, if the sandbox answers. */
static void find_running(struct op_context *ctx, struct status_result *result)
{
	const struct env *env = ctx->env;
	struct running_process *processes;

	result->n_processes = running_list(ctx->env, ctx->arena, &processes);
	result->processes = processes;
	struct bindspecs binds = running_binds(ctx->env, ctx->arena);
	result->binds = newnode_binds(&binds, ctx->arena);
	result->n_binds = binds.n;
	result->processes_unknown = env->attached && env->sandbox.mute.code;
	if (result->processes_unknown)
		note_degraded(
			result, arena_printf(ctx->arena, "the processes are not known: %s (%s)",
					env->sandbox.mute.text, env->sandbox.mute.hint));
}

static int do_status(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct status_result *result = out;
	struct env *env = ctx->env;
	char *name;
	int r = history_meta(&env->history, "name", ctx->arena, &name, err);

	if (r < 0)
		return r;
	struct history_workspace *row = arena_alloc(ctx->arena, sizeof(*row));
	r = history_workspace(&env->history, env->row.name, ctx->arena, row, err);
	if (r >= 0)
		r = env_head(env, ctx->arena, &result->head, err);
	if (r >= 0)
		r = history_count(&env->history, &result->nodes, err);
	if (r >= 0)
		r = history_tags(&env->history, NULL, count_tag, &result->tags, err);
	if (r >= 0)
		r = store_stats(env->store, &result->store, err);
	if (r >= 0)
		r = compare_work(ctx, result, err);
	if (r >= 0)
		r = usage_look(env, true, &result->disk, err);
	if (r < 0)
		return r;
	result->root = arena_strdup(ctx->arena, env->root);
	result->name = name;
	result->workspace = row;
	r = find_live(ctx, result, err);
	if (r >= 0)
		r = find_drift(ctx, result, err);
	if (r < 0)
		return r;
	find_running(ctx, result);
	recording_find(env, ctx->arena, &result->recording);
	if (result->recording.degraded)
		note_degraded(result, result->recording.degraded);
	const char **ignore = arena_alloc(ctx->arena, (env->n_exclude + 1) * sizeof(*ignore));
	for (size_t i = 0; i < env->n_exclude; i++)
		ignore[i] = arena_strdup(ctx->arena, env->exclude[i]);
	result->ignore = ignore;
	result->n_ignore = env->n_exclude;
	if (geteuid())
		note_degraded(result,
			"owners of other users and device nodes are kept in the history "
			"only: this user cannot set them");
	if (row->pending)
		note_degraded(result,
			"a checkout was interrupted: the next command that writes completes "
			"it, 'strata checkout --abort' undoes it");
	result->report = ctx->report;
	return 0;
}

static void processes_json(struct json *out, const struct status_result *res)
{
	if (res->processes_unknown)
		return json_none(out, "processes");
	json_open(out, "processes", '[');
	for (size_t i = 0; i < res->n_processes && i < RUNNING_LIST_MAX; i++) {
		json_open(out, NULL, '{');
		json_int(out, "pid", res->processes[i].pid);
		json_text(out, "command", res->processes[i].command);
		json_close(out);
	}
	json_close(out);
}

static void recording_json(struct json *out, const struct recording *recording)
{
	json_open(out, "recording", '{');
	json_number(out, "owner_pid", recording->pid, recording->pid);
	json_text(out, "by", recording->by);
	json_text(out, "mode", recording_mode_name(recording->mode));
	json_number(out, "every", recording->mode == RECORDING_LOOKING, recording->every);
	json_text(out, "last_node", recording->last_node);
	json_text(out, "degraded", recording->degraded);
	json_close(out);
}

static void result_json(struct json *out, const void *result)
{
	const struct status_result *res = result;

	json_text(out, "root", res->root);
	json_text(out, "name", res->name);
	json_text(out, "workspace", res->workspace->name);
	recording_json(out, &res->recording);
	json_text(out, "backend", res->workspace->backend);
	json_text(out, "backend_reason", res->workspace->reason);
	json_text(out, "head", res->workspace->head);
	json_text(out, "work_path", res->work_path);
	json_uint(out, "dirty", res->dirty);
	json_open(out, "dirty_paths", '[');
	for (size_t i = 0; i < res->n_paths; i++)
		json_str(out, NULL,
			res->paths[i].op == 'R' ? res->paths[i].new_path : res->paths[i].path);
	json_close(out);
	json_uint(out, "drift", res->drift);
	json_uint(out, "nodes", res->nodes);
	json_uint(out, "tags", res->tags);
	shape_stats(out, "store", &res->store);
	usage_json(out, "disk", &res->disk);
	processes_json(out, res);
	shape_binds(out, res->binds, res->n_binds);
	json_texts(out, "ignore", res->ignore, res->n_ignore);
	json_texts(out, "degraded", res->degraded, res->n_degraded);
	shape_report(out, res->report);
}

const struct op op_status = {
	.name = "status",
	.summary = "one screen about the environment",
	.advice = "Call it first: it names HEAD, what has changed since HEAD, and the "
		  "workspace.",
	.access = ENV_LOOK,
	.result_size = sizeof(struct status_result),
	.result = "root:text name:text? workspace:text recording:{owner_pid:int? "
		  "by:text? mode:text every:int? last_node:text? degraded:text?} "
		  "backend:text backend_reason:text? head:text work_path:text? "
		  "dirty:int dirty_paths:[text] drift:int nodes:int tags:int "
		  "store:{bytes:int raw_bytes:int objects:int} disk:" USAGE_SHAPE
		  "processes:[{pid:int command:text?}]? " SHAPE_BINDS
		  "ignore:[text] degraded:[text] " SHAPE_REPORT,
	.run = do_status,
	.result_json = result_json,
};
