/* workspaces - list the live trees of the environment, or delete one of them. */
#include "ops/workspaces.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/running.h"

#define DESTROY_TRIES 50
#define DESTROY_STEP_MS 10

static const struct param params[] = {
	PARAM(workspaces_request, action, TEXT, PARAM_POSITIONAL,
		"delete; they are listed unless given"),
	PARAM(workspaces_request, name, TEXT, PARAM_POSITIONAL, "the workspace to delete"),
	{ 0 },
};

static int list_workspace(void *arg, const struct history_workspace *workspace, struct err *err)
{
	struct op_context *ctx = arg;
	struct workspaces_row row = {
		.workspace = workspace,
		.running = running_count(ctx->env, workspace->name) > 0,
	};

	return op_emit(ctx, &row, err);
}

static int list_workspaces(struct op_context *ctx, struct err *err)
{
	struct env env;
	int r = env_open(&env, ctx->root, ctx->workspace, ENV_READ, "workspaces", ctx->report, err);

	if (r < 0)
		return r;
	ctx->env = &env;
	r = history_workspaces(&env.history, list_workspace, ctx, err);
	ctx->env = NULL;
	env_close(&env);
	return r;
}

/*
 * Remove a live tree.  The removal is tried several times, because a program that was just killed
 * may still add files.
 */
static int destroy_tree(struct workspace *workspace, struct err *err)
{
	struct err why = { 0 };
	int r = workspace_destroy(workspace, &why);

	for (int i = 0; r < 0 && i < DESTROY_TRIES; i++) {
		when_pause(DESTROY_STEP_MS * WHEN_MS);
		r = workspace_destroy(workspace, &why);
	}
	if (r < 0)
		*err = why;
	return r;
}

int workspaces_remove(
	struct env *env, const char *name, int wait_ms, struct report *report, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct history_workspace row;
	char file[WORKSPACE_NAME_MAX + 8];
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	snprintf(file, sizeof(file), "%s.lock", name);
	/* While this process holds the lock, no other command can work in the workspace. */
	owned_fd int lock = lock_take(run, file, LOCK_EXCLUSIVE, wait_ms, "workspaces", err);
	if (lock < 0)
		return err_context(err, "workspace '%s'", name);
	int r = running_end(env, name, err);
	int known = r < 0 ? r : history_workspace(&env->history, name, &arena, &row, err);
	if (known < 0)
		return known;
	struct workspace_setup setup = env_setup(env, name, report);
	setup.backend = known ? row.backend : env->row.backend;
	setup.path = known ? row.path : NULL;
	struct workspace *workspace = workspace_new(&setup, err);
	if (!workspace)
		return -(int)err->code;
	/*
	 * Delete the workspace from the history first, because a live tree without a workspace does
	 * no harm.
	 */
	if (known)
		r = history_workspace_delete(&env->history, name, err);
	if (r >= 0)
		r = destroy_tree(workspace, err);
	workspace_free(workspace);
	return r;
}

static int delete_workspace(struct op_context *ctx, const char *name, struct err *err)
{
	struct env env;
	int r;

	if (!strcmp(name, ENV_MAIN)) {
		err_set(err, ERR_INVALID, "'" ENV_MAIN "' cannot be deleted");
		return err_hint(err, "the environment as a whole goes with 'strata destroy'");
	}
	r = env_open(&env, ctx->root, name, ENV_FORK, "workspaces delete", ctx->report, err);
	if (r < 0)
		return r;
	r = workspaces_remove(&env, name, ENV_WAIT_MS, ctx->report, err);
	env_close(&env);
	return r;
}

static int do_workspaces(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct workspaces_request *req = request;
	struct workspaces_result *result = out;

	if (!req->action)
		return list_workspaces(ctx, err);
	if (strcmp(req->action, "delete"))
		return err_set(err, ERR_USAGE,
			"workspaces: '%.80s' is no action; there is 'delete'", req->action);
	if (!req->name)
		return err_set(err, ERR_USAGE, "workspaces delete: the name is missing");
	result->deleted = req->name;
	return delete_workspace(ctx, req->name, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct workspaces_row *item = row;

	json_text(out, "name", item->workspace->name);
	json_text(out, "head", item->workspace->head);
	json_text(out, "backend", item->workspace->backend);
	json_bool(out, "running", item->running);
}

static void result_json(struct json *out, const void *result)
{
	const struct workspaces_result *res = result;

	if (res->deleted)
		json_text(out, "deleted", res->deleted);
}

const struct op op_workspaces = {
	.name = "workspaces",
	.summary = "list or delete the live trees of the environment",
	.advice = "With action=delete it removes a workspace and its uncommitted work.",
	.flags = OP_NO_ENV | OP_WRITES,
	.params = params,
	.request_size = sizeof(struct workspaces_request),
	.result_size = sizeof(struct workspaces_result),
	.rows = "workspaces",
	.row = "{name:text head:text backend:text running:bool}",
	.result = "deleted?:text",
	.run = do_workspaces,
	.row_json = row_json,
	.result_json = result_json,
};
