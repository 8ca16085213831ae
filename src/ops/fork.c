/*
 * fork - make further workspaces, all of them at the same node.
 *
 * The live trees are made first.  Then all workspaces are added in one transaction.  A fork that
 * was killed leaves live trees without workspaces.  The next fork of the same name uses these live
 * trees.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/fork.h"
#include "ops/shape.h"

#define COUNT_MAX 4096

static const struct param params[] = {
	PARAM(fork_request, name, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"what the workspace is called; with count what its name begins with"),
	PARAM(fork_request, ref, TEXT, PARAM_POSITIONAL,
		"the node to begin with; HEAD unless given"),
	PARAM(fork_request, count, COUNT, 0, "how many workspaces to make"),
	{ 0 },
};

/* A single workspace is called NAME.  With --count, the workspaces are called NAME1 to NAMEn. */
static void make_names(
	struct op_context *ctx, const struct fork_request *req, struct fork_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rows[i].name = req->count ? arena_printf(ctx->arena, "%s%zu", req->name, i + 1)
					  : req->name;
}

static int check_names(struct op_context *ctx, const struct fork_plan *plan, struct err *err)
{
	struct history_workspace there;

	for (size_t i = 0; i < plan->n; i++) {
		const char *name = plan->rows[i].name;

		if (!workspace_name_ok(name)) {
			err_set(err, ERR_USAGE, "'%.80s' cannot be the name of a workspace", name);
			return err_hint(err, "letters, digits and ._- are fine, up to %d of them",
				WORKSPACE_NAME_MAX);
		}
		int r = history_workspace(&ctx->env->history, name, ctx->arena, &there, err);
		if (r < 0)
			return r;
		if (r > 0) {
			err_set(err, ERR_INVALID, "there is a workspace '%s' already", name);
			return err_hint(
				err, "use another name, or 'strata workspaces delete %s'", name);
		}
	}
	return 0;
}

/*
 * Open the live tree of the workspace 'name', so that a new live tree can be made from it.  The
 * first fork is made from the workspace of the command.  All other forks are made from the first
 * fork.
 */
static int open_donor(struct env *env, const char *name)
{
	char path[WORKSPACE_NAME_MAX + 32];
	struct err ignored = { 0 };

	if (!env->kind || !env->kind->snapshots)
		return -1;
	snprintf(path, sizeof(path), WORKSPACE_LIVE_DIR "/%s", name);
	return at_open(env->rootfd, path, O_RDONLY | O_DIRECTORY, &ignored);
}

static int make_tree(struct op_context *ctx, const struct workspace_setup *setup, const char *like,
	const struct hash *tree, struct err *err)
{
	struct env *env = ctx->env;
	owned_fd int donor = open_donor(env, like);
	struct workspace *workspace = workspace_new(setup, err);

	if (!workspace)
		return -(int)err->code;
	int r = workspace_create(workspace, tree, donor, err);
	env->untidy |= workspace_free(workspace);
	return r < 0 ? err_context(err, "workspace '%s'", setup->name) : 0;
}

static int add_workspaces(struct op_context *ctx, const struct fork_plan *plan, struct err *err)
{
	struct env *env = ctx->env;
	struct history_workspace row = { .reason = arena_strdup(ctx->arena, plan->reason) };
	int r = db_begin(env->db, err);

	if (r < 0)
		return r;
	memcpy(row.backend, env->row.backend, sizeof(row.backend));
	memcpy(row.head, plan->base.id, sizeof(row.head));
	for (size_t i = 0; r >= 0 && i < plan->n; i++) {
		snprintf(row.name, sizeof(row.name), "%s", plan->rows[i].name);
		r = history_workspace_add(&env->history, &row, err);
	}
	if (r < 0) {
		db_rollback(env->db);
		return r;
	}
	return db_commit(env->db, err);
}

int fork_base(struct op_context *ctx, const char *text, struct ref *base, struct err *err)
{
	int r = env_resolve(ctx->env, text ? text : "HEAD", base, err);

	if (r >= 0 && base->work) {
		err_set(err, ERR_INVALID, "the live tree is no node");
		return err_hint(err, "'strata commit' makes one of it");
	}
	return r;
}

static int make_trees(struct op_context *ctx, const struct fork_plan *plan, struct err *err)
{
	struct env *env = ctx->env;
	const struct fork_row *rows = plan->rows;
	struct workspace_setup setup = env_setup(env, NULL, ctx->report);
	struct hash tree;
	int r = env_tree(env, &plan->base, &tree, err);

	setup.backend = env->row.backend;
	setup.like = env->row.name;
	setup.durable = false; /* fork_make syncs all live trees at once */
	if (r >= 0)
		r = movement_find_near(ctx, plan->base.id, &setup.near, &setup.n_near, err);
	for (size_t i = 0; r >= 0 && i < plan->n; i++) {
		setup.name = rows[i].name;
		if (plan->stop && plan->stop(plan->arg))
			r = err_set(err, ERR_BUSY, "interrupted");
		else
			r = make_tree(ctx, &setup, i ? rows[0].name : env->row.name, &tree, err);
		op_progress(ctx, "forking", i + 1, plan->n);
	}
	op_progress(ctx, NULL, 0, 0);
	return r;
}

int fork_make(struct op_context *ctx, const struct fork_plan *plan, struct err *err)
{
	int r = check_names(ctx, plan, err);

	if (r >= 0)
		r = make_trees(ctx, plan, err);
	if (r >= 0 && !plan->passing && syncfs(ctx->env->rootfd) < 0)
		r = err_errno(err, "sync the environment");
	return r < 0 ? r : add_workspaces(ctx, plan, err);
}

static int do_fork(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct fork_request *req = request;
	struct fork_result *result = out;
	size_t n = req->count ? (size_t)req->count : 1;

	if (req->count > COUNT_MAX)
		return err_set(err, ERR_USAGE, "--count is at most %d", COUNT_MAX);
	struct fork_row *rows = arena_alloc(ctx->arena, n * sizeof(*rows));
	struct fork_plan plan = {
		.rows = rows,
		.n = n,
		.reason = arena_printf(
			ctx->arena, "as '%s', of which it is a fork", ctx->env->row.name),
	};
	int r = fork_base(ctx, req->ref, &plan.base, err);

	make_names(ctx, req, rows, n);
	if (r >= 0)
		r = fork_make(ctx, &plan, err);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = op_emit(ctx, &rows[i], err);
	memcpy(result->head, plan.base.id, sizeof(result->head));
	result->report = ctx->report;
	return r;
}

static void row_json(struct json *out, const void *row)
{
	json_text(out, NULL, ((const struct fork_row *)row)->name);
}

static void result_json(struct json *out, const void *result)
{
	const struct fork_result *res = result;

	json_text(out, "head", res->head);
	shape_report(out, res->report);
}

const struct op op_fork = {
	.name = "fork",
	.summary = "make further workspaces at a node",
	.advice = "Makes a further live workspace from a node, for work that should not "
		  "disturb this one. Then call other tools with 'workspace'.",
	.flags = OP_WRITES,
	.access = ENV_FORK,
	.params = params,
	.request_size = sizeof(struct fork_request),
	.result_size = sizeof(struct fork_result),
	.rows = "workspaces",
	.row = "text",
	.result = "head:text " SHAPE_REPORT,
	.run = do_fork,
	.row_json = row_json,
	.result_json = result_json,
};
