/*
 * init - make an environment and its first node.
 *
 * An init that fails leaves nothing behind.  If init is killed, a second process cleans up
 * (guard.h).  If both processes are killed, the next init cleans up.  This is possible because the
 * directory counts as an environment only after newenv_ready.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/dirsource.h"
#include "ops/guard.h"
#include "ops/newenv.h"
#include "ops/progress.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "tree/tarball.h"
#include "tree/treebuild.h"

#define REASON_MAX 512

static const struct param params[] = {
	PARAM(init_request, from, TEXT, 0, "start with what is in this directory"),
	PARAM(init_request, tarball, TEXT, 0,
		"start with what is in this tar file; - is standard input"),
	PARAM(init_request, empty, FLAG, 0, "start with an empty directory"),
	PARAM(init_request, in_place, FLAG, 0,
		"copy nothing: the directory itself becomes the live tree"),
	PARAM(init_request, exclude, TEXTS, 0, "a pattern of what is left out, now and later"),
	PARAM(init_request, backend, TEXT, 0,
		"overlay, btrfs, reflink, copy or auto (the default)"),
	PARAM(init_request, name, TEXT, 0, "what the environment is called"),
	PARAM(init_request, skip_unreadable, FLAG, 0,
		"files that could not be read are no failure"),
	{ 0 },
};

static int check_request(const struct init_request *req, struct err *err)
{
	int sources = !!req->from + !!req->tarball + req->empty;

	if (sources != 1)
		return err_set(err, ERR_USAGE, "give one of --from DIR, --tarball FILE or --empty");
	if (req->in_place && !req->from)
		return err_set(err, ERR_USAGE, "--in-place goes with --from DIR");
	if (req->exclude.count && !req->from)
		return err_set(err, ERR_USAGE, "--exclude goes with --from DIR");
	if (req->exclude.count > ENV_EXCLUDE_MAX)
		return err_set(err, ERR_USAGE, "at most %d --exclude", ENV_EXCLUDE_MAX);
	for (size_t i = 0; i < req->exclude.count; i++)
		if (!*req->exclude.list[i] || strchr(req->exclude.list[i], '\n'))
			return err_set(
				err, ERR_USAGE, "--exclude takes a pattern without line breaks");
	return 0;
}

static int save_settings(struct op_context *ctx, const struct init_request *req, struct err *err)
{
	struct env *env = ctx->env;
	owned(buf_release) struct buf text = { .max = (size_t)1 << 20 };
	int r = 0;

	env->exclude = req->exclude.list;
	env->n_exclude = req->exclude.count;
	for (size_t i = 0; i < req->exclude.count; i++)
		buf_addf(&text, "%s%s", i ? "\n" : "", req->exclude.list[i]);
	if (text.len)
		r = history_meta_set(&env->history, "exclude", text.data, err);
	if (r >= 0)
		r = history_meta_set(&env->history, "name", req->name ? req->name : "strata", err);
	return r;
}

static int empty_tree(struct store *store, struct hash *tree, struct err *err)
{
	int64_t now = when_now();
	struct entry root = {
		.name = STR(""),
		.type = ENTRY_DIR,
		.mode = 0755,
		.uid = geteuid(),
		.gid = getegid(),
		.mtime_sec = now / WHEN_SECOND,
		.mtime_nsec = (uint32_t)(now % WHEN_SECOND),
	};

	return treebuild_root(store, &root, tree, err);
}

static int read_tarball(
	struct op_context *ctx, const char *file, struct hash *tree, struct err *err)
{
	owned_fd int fd = strcmp(file, "-") ? at_open_given(file, O_RDONLY, 0, err)
					    : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return strcmp(file, "-") ? fd : err_errno(err, "standard input");
	return tarball_read(ctx->env->store, fd, tree, ctx->report, err);
}

/* Read the tree that the environment begins with. */
static int read_seed(struct op_context *ctx, const struct init_request *req, int source,
	struct hash *tree, struct err *err)
{
	struct progress shown;
	int r;

	if (req->empty)
		return empty_tree(ctx->env->store, tree, err);
	progress_begin(&shown, ctx, "scanning");
	if (req->tarball)
		r = read_tarball(ctx, req->tarball, tree, err);
	else if (req->in_place)
		r = workspace_read_in_place(ctx->env->workspace, source, tree, err);
	else
		r = dirsource_read(ctx,
			&(struct dirsource){ .fd = source,
				.exclude = ctx->env->exclude,
				.n_exclude = ctx->env->n_exclude,
				.counters = &shown.counters },
			tree, err);
	progress_end(&shown);
	return r;
}

/* The source must not lie inside the environment; the environment may lie inside the source. */
static int check_source(struct env *env, const char *path, struct err *err)
{
	size_t len = strlen(env->root);

	if (!strncmp(path, env->root, len) && (!path[len] || path[len] == '/'))
		return err_set(err, ERR_INVALID, "'%s' is inside the environment", path);
	return 0;
}

static int make_first_node(struct op_context *ctx, const struct init_request *req,
	const struct hash *tree, struct init_result *result, struct err *err)
{
	struct env *env = ctx->env;
	struct entry root;
	int r = treeiter_top(env->store, tree, &root, err);

	if (r < 0)
		return r;
	result->entries = root.count;
	result->bytes = root.size;
	result->node = (struct node){
		.tree = *tree,
		.time = when_now(),
		.kind = NODE_INIT,
		.counts.added = root.count,
	};
	const char *source = req->from ? req->from : req->tarball ? req->tarball : "nothing";
	result->node.message = str_of(arena_printf(ctx->arena, "init from %s", source));
	return history_add(&env->history, &result->node, NULL, NULL, err);
}

/*
 * Returns the path under which a live tree outside of the environment is stored.  If the
 * environment lies inside that tree, the path is relative to the environment, and all its names are
 * "..".  So the tree can be moved or copied together with its environment.  Otherwise the path is
 * 'live'.
 */
static const char *way_to(struct op_context *ctx, const char *live)
{
	const char *root = ctx->env->root;
	size_t len = strlen(live);
	owned(buf_release) struct buf way = BUF_INIT;

	if (strncmp(root, live, len) || root[len] != '/')
		return live;
	for (const char *p = root + len; *p; p++)
		if (*p == '/')
			buf_adds(&way, way.len ? "/.." : "..");
	return arena_strdup(ctx->arena, way.data);
}

static int remember_live(struct op_context *ctx, int source, struct err *err)
{
	struct statx stx;
	int r = at_fd_stat(source, &stx);

	if (r < 0)
		return err_number(err, -r, "stat the live tree");
	return history_meta_set(&ctx->env->history, "live_ino",
		arena_printf(ctx->arena, "%llu", (unsigned long long)stx.stx_ino), err);
}

/* Whether the tree has a shell, so that programs can be run in it. */
static int tree_has_shell(struct store *store, const struct hash *tree, struct err *err)
{
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(store);
	struct entry entry;
	int r = treeiter_path(iter, tree, STR("bin/sh"), &entry, err);

	return r ? r : treeiter_path(iter, tree, STR("usr/bin/sh"), &entry, err);
}

static int choose_backend(struct op_context *ctx, const struct init_request *req, bool programs,
	struct init_result *result, struct err *err)
{
	struct env *env = ctx->env;
	struct workspace_want want = {
		.backend = req->backend,
		.programs = programs,
		.in_place = req->in_place,
		.excludes = req->exclude.count > 0,
	};
	char *reason = arena_alloc(ctx->arena, REASON_MAX);
	env->kind = workspace_choose(env->rootfd, &want, reason, REASON_MAX, err);
	if (!env->kind)
		return -(int)err->code;
	result->backend = env->kind->name;
	result->reason = reason;
	env->row.path = req->in_place ? (char *)way_to(ctx, result->work_path) : NULL;
	struct workspace_setup setup = env_setup(env, ENV_MAIN, ctx->report);
	setup.backend = env->kind->name;
	setup.first = true;
	setup.path = env->row.path;
	env->workspace = workspace_new(&setup, err);
	return env->workspace ? 0 : -(int)err->code;
}

/*
 * Read the tree and choose the backend.  The choice depends on the tree, so the tree is read first.
 * With --in-place, however, the backend itself reads the tree, so the backend is chosen first.
 */
static int read_and_choose(struct op_context *ctx, const struct init_request *req, int source,
	struct hash *tree, struct init_result *result, struct err *err)
{
	int r;

	if (!req->in_place) {
		r = read_seed(ctx, req, source, tree, err);
		if (r >= 0)
			r = tree_has_shell(ctx->env->store, tree, err);
		return r < 0 ? r : choose_backend(ctx, req, r > 0, result, err);
	}
	r = choose_backend(ctx, req, dirsource_has_shell(source), result, err);
	return r < 0 ? r : read_seed(ctx, req, source, tree, err);
}

static int make_live(struct op_context *ctx, int source, const struct hash *tree,
	struct init_result *result, struct err *err)
{
	struct env *env = ctx->env;
	struct progress shown;
	int r;

	if (env->row.path && env->kind->in_place == WORKSPACE_LIVE) {
		r = workspace_save_index(env->workspace, err);
		return r < 0 ? r : remember_live(ctx, source, err);
	}
	r = env->kind->mounted ? env_enter(env, true, err) : 0;
	if (r < 0)
		return r;
	progress_begin(&shown, ctx, "restoring");
	r = workspace_create(env->workspace, tree, source, err);
	progress_end(&shown);
	result->work_path = env->kind->mounted
				    ? NULL
				    : arena_printf(ctx->arena,
					      "%s/" WORKSPACE_LIVE_DIR "/" ENV_MAIN, env->root);
	return r;
}

static int build_env(struct op_context *ctx, const struct init_request *req, int source,
	struct init_result *result, struct err *err)
{
	struct env *env = ctx->env;
	struct history_workspace row = { .name = ENV_MAIN };
	struct hash tree;
	int r = save_settings(ctx, req, err);

	if (r >= 0)
		r = read_and_choose(ctx, req, source, &tree, result, err);
	if (r >= 0)
		r = make_first_node(ctx, req, &tree, result, err);
	if (r >= 0)
		r = make_live(ctx, source, &tree, result, err);
	if (r < 0)
		return r;
	row.path = env->row.path;
	row.reason = (char *)result->reason;
	snprintf(row.backend, sizeof(row.backend), "%s", result->backend);
	memcpy(row.head, result->node.id, sizeof(row.head));
	r = history_workspace_add(&env->history, &row, err);
	return r < 0 ? r : newenv_ready(env, err);
}

struct new_root {
	const char *root;
	unsigned levels; /* number of directories of its path that did not exist before */
};

static void clear_new_root(void *arg)
{
	const struct new_root *root = arg;

	newenv_clear(root->root, root->levels);
}

static int do_init(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct init_request *req = request;
	struct init_result *result = out;
	owned_fd int source = -1;
	struct env env;
	int r = check_request(req, err);

	if (r < 0)
		return r;
	if (req->from) {
		source = at_open_given(req->from, O_RDONLY | O_DIRECTORY, 0, err);
		if (source < 0)
			return source;
	}
	struct new_root made = { ctx->root, at_missing_given(ctx->root) };
	r = guard_split(clear_new_root, &made, err);
	if (r >= 0)
		r = newenv_create(&env, ctx->root, err);
	if (r < 0)
		return r;
	unsigned levels = (unsigned)r;
	ctx->env = &env;
	result->root = arena_strdup(ctx->arena, env.root);
	if (req->from) {
		owned_mem char *path = at_path_of(source, err);

		r = path ? check_source(&env, path, err) : -(int)err->code;
		if (r >= 0)
			result->work_path = arena_strdup(ctx->arena, path);
	}
	if (r >= 0)
		r = build_env(ctx, req, source, result, err);
	if (r >= 0)
		r = store_stats(env.store, &result->store, err);
	result->report = ctx->report;
	result->incomplete =
		(ctx->report->count[REPORT_UNREADABLE] || ctx->report->count[REPORT_UNRESTORED]) &&
		!req->skip_unreadable;
	ctx->env = NULL;
	if (r < 0)
		newenv_abandon(&env, levels);
	else
		env_close(&env);
	return r;
}

static void result_json(struct json *out, const void *result)
{
	const struct init_result *res = result;
	char hex[HASH_HEX];

	json_text(out, "root", res->root);
	json_text(out, "id", res->node.id);
	json_text(out, "tree", hash_hex(&res->node.tree, hex));
	json_text(out, "backend", res->backend);
	json_text(out, "backend_reason", res->reason);
	json_text(out, "work_path", res->work_path);
	json_uint(out, "entries", res->entries);
	json_uint(out, "bytes", res->bytes);
	shape_report(out, res->report);
}

const struct op op_init = {
	.name = "init",
	.summary = "make an environment from a directory or a tar file",
	.flags = OP_LOCAL | OP_NO_ENV | OP_WRITES | OP_ALONE,
	.access = ENV_WRITE,
	.params = params,
	.request_size = sizeof(struct init_request),
	.result_size = sizeof(struct init_result),
	.result = "root:text id:text tree:text backend:text backend_reason:text? "
		  "work_path:text? entries:int bytes:int " SHAPE_REPORT,
	.run = do_init,
	.result_json = result_json,
};
