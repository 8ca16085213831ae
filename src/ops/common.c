#include "ops/common.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/running.h"

#define WATCH_MS 100
#define NEAR_MAX 64       /* nodes asked whether their live tree is a good start */
#define RESIDUE "residue" /* setting: see note_residue */

/* -------------------------------------------------------------------- nodes */

struct tag_list {
	struct arena *arena;
	const char **tags;
	size_t n, cap;
};

static int add_tag(void *arg, const char *name, const char *id, struct err *err)
{
	struct tag_list *list = arg;

	mem_grow(&list->tags, &list->cap, list->n);
	list->tags[list->n++] = arena_strdup(list->arena, name);
	return 0;
}

int common_node_row(struct op_context *ctx, struct arena *arena, const struct node *node,
	struct common_node *row, struct err *err)
{
	struct tag_list list = { .arena = arena };
	int r = history_tags(&ctx->env->history, node->id, add_tag, &list, err);

	*row = (struct common_node){
		.node = node,
		.head = !strcmp(node->id, ctx->env->row.head),
		.n_tags = list.n,
	};
	if (list.n) {
		row->tags = arena_alloc(arena, list.n * sizeof(*list.tags));
		memcpy(row->tags, list.tags, list.n * sizeof(*list.tags));
	}
	free(list.tags);
	return r;
}

void common_counts_json(struct json *out, const struct treediff_counts *counts)
{
	json_open(out, "changes", '{');
	json_uint(out, "added", counts->added);
	json_uint(out, "modified", counts->modified);
	json_uint(out, "deleted", counts->deleted);
	json_uint(out, "renamed", counts->renamed);
	json_close(out);
}

static void paths_json(struct json *out, const struct node *node)
{
	json_open(out, "paths", '[');
	for (size_t i = 0; i < node->n_paths; i++)
		json_str(out, NULL,
			node->paths[i].op == 'R' ? node->paths[i].new_path : node->paths[i].path);
	json_close(out);
	json_open(out, "path_changes", '[');
	for (size_t i = 0; i < node->n_paths; i++) {
		json_open(out, NULL, '{');
		json_str(out, "op", (struct str){ &node->paths[i].op, 1 });
		json_str(out, "path", node->paths[i].path);
		if (node->paths[i].op == 'R')
			json_str(out, "new_path", node->paths[i].new_path);
		json_close(out);
	}
	json_close(out);
}

void common_binds_json(struct json *out, const struct node_bind *binds, size_t n)
{
	json_open(out, "binds", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(out, NULL, '{');
		json_str(out, "host", binds[i].host);
		json_str(out, "inside", binds[i].inside);
		json_bool(out, "read_only", binds[i].read_only);
		json_close(out);
	}
	json_close(out);
}

void common_node_json(struct json *out, const struct common_node *row)
{
	const struct node *node = row->node;
	char hex[HASH_HEX], time[40];

	json_text(out, "id", node->id);
	json_text(out, "parent", node->parent[0] ? node->parent : NULL);
	json_text(out, "tree", hash_hex(&node->tree, hex));
	json_text(out, "time", when_iso(node->time, time));
	json_int(out, "time_ns", node->time);
	json_text(out, "kind", node_kind_name(node->kind));
	json_str(out, "message", node->message);
	if (node->n_command) {
		json_open(out, "command", '[');
		for (size_t i = 0; i < node->n_command; i++)
			json_str(out, NULL, node->command[i]);
		json_close(out);
	} else {
		json_none(out, "command");
	}
	if (node->has_status) {
		json_int(out, "exit_status", node->exit_status);
		json_double(out, "duration", (double)node->duration / 1e9);
	} else {
		json_none(out, "exit_status");
	}
	common_counts_json(out, &node->counts);
	paths_json(out, node);
	common_binds_json(out, node->binds, node->n_binds);
	json_open(out, "tags", '[');
	for (size_t i = 0; i < row->n_tags; i++)
		json_text(out, NULL, row->tags[i]);
	json_close(out);
	json_bool(out, "head", row->head);
}

void common_node_row_json(struct json *out, const void *row)
{
	json_open(out, NULL, '{');
	common_node_json(out, row);
	json_close(out);
}

void common_report_json(struct json *out, const struct report *report)
{
	json_open(out, "exceptions", '{');
	for (int kind = 0; kind < REPORT_KINDS; kind++)
		json_uint(out, report_kind_name(kind), report->count[kind]);
	json_open(out, "list", '[');
	for (size_t i = 0; i < report->n_items; i++) {
		json_open(out, NULL, '{');
		json_text(out, "kind", report_kind_name(report->items[i].kind));
		json_str(out, "path", report->items[i].path);
		json_text(out, "reason", report->items[i].what);
		json_close(out);
	}
	json_close(out);
	json_close(out);
}

void common_change_json(struct json *out, const struct treediff_change *change)
{
	const struct entry *entry = change->b ? change->b : change->a;

	json_str(out, "op", (struct str){ &change->op, 1 });
	json_text(out, "type", entry_type_name(entry->type));
	json_str(out, "path", change->path);
	if (change->op == 'R')
		json_str(out, "new_path", change->new_path);
	json_open(out, "what", '[');
	for (unsigned bit = 0; bit < TREEDIFF_WHATS; bit++)
		if (change->what & 1u << bit)
			json_text(out, NULL, treediff_what_name(1u << bit));
	json_close(out);
}

/* -------------------------------------------------------------------- views */

bool common_is_work(const char *text)
{
	struct str ref, path;

	if (!text)
		return false;
	ref_split(str_of(text), &ref, &path);
	return str_eq(ref, STR("work"));
}

struct str common_path(struct op_context *ctx, struct str path)
{
	for (;;) {
		if (path.len && path.ptr[0] == '/')
			path.ptr++, path.len--;
		else if (path.len >= 2 && path.ptr[0] == '.' && path.ptr[1] == '/')
			path.ptr += 2, path.len -= 2;
		else
			break;
	}
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	return arena_str(ctx->arena, str_eq(path, STR(".")) ? STR("") : path);
}

struct view *common_view(struct op_context *ctx, const char *text, struct str *path,
	const char **id, struct err *err)
{
	struct str name = STR("HEAD"), rest = STR("");
	struct ref ref;
	struct hash tree;

	if (text)
		ref_split(str_of(text), &name, &rest);
	if (path)
		*path = common_path(ctx, rest);
	else if (rest.len) {
		err_set(err, ERR_INVALID, "'%s' names a path where a node is meant", text);
		return NULL;
	}
	const char *ref_text = arena_str(ctx->arena, name.len ? name : STR("HEAD")).ptr;
	if (env_resolve(ctx->env, ref_text, &ref, err) < 0 ||
		env_tree(ctx->env, &ref, &tree, err) < 0)
		return NULL;
	if (id)
		*id = ref.work ? "work" : arena_strdup(ctx->arena, ref.id);
	return strata_view(ctx->env->store, &tree, ref.work ? ctx->env->workspace.live : -1);
}

/* ----------------------------------------------------------------- progress */

/* The counters move in other threads' loops; this one looks at them now and then. */
struct watch {
	struct op_context *ctx;
	const char *stage;
	uint64_t (*done)(void *arg); /* or NULL: the counters below */
	void *arg;
	uint64_t total;
	_Atomic uint64_t scanned;
	struct ingest_progress ingested;
	struct treeapply_progress applied;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopping;
	bool running;
};

static struct watch watch = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *show(void *arg)
{
	struct watch *w = arg;
	struct timespec until;

	pthread_mutex_lock(&w->lock);
	while (!w->stopping) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += WATCH_MS * 1000000L;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000L;
		}
		pthread_cond_timedwait(&w->stop, &w->lock, &until);
		uint64_t applied = w->applied.entries, read = w->ingested.files;
		if (w->done)
			op_progress(w->ctx, w->stage, w->done(w->arg), w->total);
		else if (applied)
			op_progress(w->ctx, "restoring", applied, 0);
		else if (read)
			op_progress(w->ctx, "storing", read, w->scanned);
		else
			op_progress(w->ctx, w->stage, w->scanned, 0);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void start_watch(struct op_context *ctx, const char *stage)
{
	pthread_condattr_t attr;

	watch.ctx = ctx;
	watch.stage = stage;
	watch.stopping = false;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&watch.stop, &attr);
	pthread_condattr_destroy(&attr);
	watch.running = pthread_create(&watch.thread, NULL, show, &watch) == 0;
}

void common_watch(struct op_context *ctx, const char *stage)
{
	struct workspace *workspace = &ctx->env->workspace;

	if (!ctx->progress || watch.running)
		return;
	watch.done = NULL;
	watch.scanned = 0;
	watch.ingested.files = watch.ingested.bytes = 0;
	watch.applied.entries = watch.applied.bytes = 0;
	workspace->scanned = &watch.scanned;
	workspace->ingested = &watch.ingested;
	workspace->applied = &watch.applied;
	start_watch(ctx, stage);
}

void common_watch_work(struct op_context *ctx, const char *stage, uint64_t (*done)(void *arg),
	void *arg, uint64_t total)
{
	if (!ctx->progress || watch.running)
		return;
	watch.done = done;
	watch.arg = arg;
	watch.total = total;
	start_watch(ctx, stage);
}

void common_unwatch(struct op_context *ctx)
{
	if (!watch.running)
		return;
	pthread_mutex_lock(&watch.lock);
	watch.stopping = true;
	pthread_cond_signal(&watch.stop);
	pthread_mutex_unlock(&watch.lock);
	pthread_join(watch.thread, NULL);
	pthread_cond_destroy(&watch.stop);
	watch.running = false;
	ctx->env->workspace.scanned = NULL;
	ctx->env->workspace.ingested = NULL;
	ctx->env->workspace.applied = NULL;
	op_progress(ctx, NULL, 0, 0);
}

/* ------------------------------------------------------------------- reading */

/* The index it gives is of no further use. */
int common_read_dir(struct op_context *ctx, const struct common_source *source, struct hash *tree,
	struct err *err)
{
	struct env *env = ctx->env;
	struct statx stx;
	struct scan_skip skip = { 0 };
	struct scan_options options = {
		.fd = source->fd,
		.store = env->store,
		.only = source->only,
		.skip = &skip,
		.n_skip = 1,
		.exclude = source->exclude,
		.n_exclude = source->n_exclude,
		.report = ctx->report,
		.progress = env->workspace.scanned,
	};
	struct scan scan;
	int r = at_fd_stat(env->rootfd, &stx);

	if (r < 0) {
		errno = -r;
		return err_errno(err, "stat '%s'", env->root);
	}
	skip = (struct scan_skip){ stx.stx_dev_major, stx.stx_dev_minor, stx.stx_ino };
	int spool = at_tmpfile(env->rootfd, err);
	if (spool < 0)
		return spool;
	r = scan_run(&options, spool, &scan, err);
	if (r < 0)
		return r;
	struct ingest_options how = {
		.fd = source->fd,
		.store = env->store,
		.report = ctx->report,
		.progress = env->workspace.ingested,
	};
	r = ingest_run(&scan, &how, tree, err);
	scan_release(&scan);
	return r;
}

bool common_has_shell(int dir)
{
	static const char *const places[] = { "bin", "usr/bin" };
	struct err ignored = { 0 };
	struct statx stx;

	for (size_t i = 0; i < 2; i++) {
		owned_fd int fd = at_open(dir, places[i], O_PATH | O_DIRECTORY, &ignored);

		if (fd >= 0 && at_name_stat(fd, "sh", &stx) == 0)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------- commit */

struct summary {
	struct arena *arena;
	struct node *node;
};

static int note_path(void *arg, const struct treediff_change *change, struct err *err)
{
	struct summary *summary = arg;
	struct node *node = summary->node;

	if (node->n_paths < NODE_PATHS_MAX)
		node->paths[node->n_paths++] = (struct node_path){
			.op = change->op,
			.path = arena_str(summary->arena, change->path),
			.new_path = arena_str(summary->arena, change->new_path),
		};
	return 0;
}

int common_summarise(struct op_context *ctx, struct node *node, const struct hash *before,
	const char *label, struct err *err)
{
	struct treediff_options options = { .renames = true };
	struct summary summary = { ctx->arena, node };
	int r;

	node->paths = arena_alloc(ctx->arena, NODE_PATHS_MAX * sizeof(*node->paths));
	r = treediff_run(ctx->env->store, before, &node->tree, &options, note_path, &summary,
		&node->counts, err);
	/* What was before is damaged: no reason to refuse what is now. */
	if (r == -ERR_CORRUPT || r == -ERR_NOT_FOUND) {
		node->counts = (struct treediff_counts){ 0 };
		node->n_paths = 0;
		r = 0;
	}
	if (r < 0 || node->message.len || !label)
		return r;
	owned(buf_release) struct buf text = { .max = NODE_MESSAGE_MAX };
	node_label(node, label, &text);
	node->message = arena_str(ctx->arena, (struct str){ text.data, text.len });
	return 0;
}

int common_head(struct op_context *ctx, struct node *node, struct err *err)
{
	int r = history_get(&ctx->env->history, ctx->env->row.head, ctx->arena, node, err);

	return r == 0 ? err_set(err, ERR_CORRUPT, "HEAD %s is missing", ctx->env->row.head) : r;
}

struct node_bind *common_node_binds(const struct bindspecs *binds, struct arena *arena)
{
	struct node_bind *list = arena_alloc(arena, (binds->n + 1) * sizeof(*list));

	for (size_t i = 0; i < binds->n; i++)
		list[i] = (struct node_bind){
			.host = str_of(binds->list[i].host),
			.inside = str_of(binds->list[i].inside),
			.read_only = binds->list[i].read_only,
		};
	return list;
}

/* What of the host could be changed meanwhile: by the command, and by what runs now. */
static void add_binds(struct op_context *ctx, const struct common_commit *commit, struct node *node)
{
	const struct bindspecs none = { 0 }, *own = commit->binds ? commit->binds : &none;
	struct bindspecs others = running_binds(ctx->env, ctx->arena);
	struct bindspec *all = arena_alloc(ctx->arena, (own->n + others.n + 1) * sizeof(*all));
	struct bindspecs joined = { .list = all };

	for (size_t i = 0; i < own->n; i++)
		all[joined.n++] = own->list[i];
	for (size_t i = 0; i < others.n; i++)
		if (!bindspec_has(own, &others.list[i]))
			all[joined.n++] = others.list[i];
	node->n_binds = joined.n > NODE_BINDS_MAX ? NODE_BINDS_MAX : joined.n;
	node->binds = common_node_binds(&joined, ctx->arena);
}

/* Make a node of tree on top of head and move HEAD there. */
static int add_node(struct op_context *ctx, const struct common_commit *commit,
	const struct hash *tree, const struct node *head, struct node *node, struct err *err)
{
	struct env *env = ctx->env;
	int r;

	*node = (struct node){
		.tree = *tree,
		.time = when_now(),
		.kind = commit->kind,
		.message = commit->message ? str_of(commit->message) : STR(""),
		.command = commit->command,
		.n_command = commit->n_command,
		.has_status = commit->has_status,
		.exit_status = commit->exit_status,
		.duration = commit->duration,
	};
	if (node->message.len > NODE_MESSAGE_MAX)
		return err_set(err, ERR_LIMIT, "message longer than %zu bytes", NODE_MESSAGE_MAX);
	add_binds(ctx, commit, node);
	memcpy(node->made_from, head->id, sizeof(node->made_from));
	store_flush_ahead(env->store);
	r = common_summarise(ctx, node, &head->tree, commit->op, err);
	if (r >= 0)
		r = history_add(&env->history, node, env->row.name, commit->op, err);
	if (r < 0)
		return r;
	memcpy(env->row.head, node->id, sizeof(env->row.head));
	return 0;
}

static bool is_residue(struct env *env, const struct hash *tree);

/* Nothing changed so far: files that a program may be about to change are named. */
static void report_mapped(struct op_context *ctx)
{
	owned(mapped_release) struct mapped mapped = { 0 };

	env_mapped(ctx->env, &mapped);
	for (size_t i = 0; i < mapped.n; i++)
		if (mapped.files[i].path)
			report_add(ctx->report, REPORT_MAPPED, str_of(mapped.files[i].path),
				"a program has it mapped into its memory for writing");
}

int common_commit(struct op_context *ctx, const struct common_commit *commit, struct node *node,
	bool *made, struct err *err)
{
	struct env *env = ctx->env;
	struct hash tree;
	struct node head;
	int r = common_head(ctx, &head, err);

	*made = false;
	/* Asked before the capture: what ends after it may have written after it. */
	bool over = running_dismiss(env);
	common_watch(ctx, "scanning");
	if (r >= 0)
		r = running_freeze(env, ctx->report, err);
	if (r >= 0)
		r = env_capture(env, &tree, err);
	running_thaw(env);
	common_unwatch(ctx);
	if (r < 0)
		return r;
	bool nothing_new = hash_eq(&tree, &head.tree) ||
			   (commit->kind == NODE_CHECKOUT && is_residue(env, &tree));
	if (nothing_new && !commit->allow_empty) {
		if (commit->kind == NODE_MANUAL)
			report_mapped(ctx);
		*node = head;
		node->tree = tree;
		r = store_flush(env->store, err);
	} else {
		r = add_node(ctx, commit, &tree, &head, node, err);
		*made = r >= 0;
	}
	if (r < 0)
		return r;
	/* The node is made; what is left is a cache, and none is better than an old one. */
	struct err cache = { 0 };
	if (env->workspace.backend->settle(&env->workspace, &cache) < 0)
		(void)workspace_forget(env->rootfd, env->row.name, &cache);
	else if (over && workspace_wants_freeze(&env->workspace))
		(void)workspace_freeze(&env->workspace, &tree, &cache);
	return 0;
}

/* ----------------------------------------------------------------- movements */

bool common_is_full(const struct err *err)
{
	return err->errno_value == ENOSPC || err->errno_value == EDQUOT;
}

int common_save_work(
	struct op_context *ctx, struct common_moved *moved, struct hash *tree, struct err *err)
{
	struct common_commit commit = { .kind = NODE_CHECKOUT, .op = "safety" };
	struct node node;

	moved->report = ctx->report;
	int r = common_commit(ctx, &commit, &node, &moved->safety, err);

	if (r < 0 && common_is_full(err) && !err->hint[0])
		err_hint(err, "free some space, or give the uncaptured work up with 'strata "
			      "checkout REF --no-safety'");
	if (r < 0)
		return err_context(err, "keep uncaptured work");
	*tree = node.tree;
	if (moved->safety)
		memcpy(moved->saved, node.id, sizeof(moved->saved));
	return 0;
}

/*
 * A request that is cancelled gets SIGTERM.  From here on that is too late: it is done, and what
 * it did is answered.  SIGINT and SIGKILL still leave it to the next command (env.c).
 */
static void begin_for_good(void)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &term, NULL);
}

int common_drop_work(struct op_context *ctx, const char *id, struct common_moved *moved,
	struct hash *tree, struct err *err)
{
	struct env *env = ctx->env;
	struct err ignored = { 0 };

	moved->report = ctx->report;
	moved->given_up = true;
	begin_for_good();
	/* Files begin to go: cut off here, the next command goes on, if this can be written. */
	(void)history_set_pending(&env->history, env->row.name, id, &ignored);
	int r = workspace_discard(&env->workspace, err);
	if (r >= 0)
		r = env_capture(env, tree, err);
	if (r >= 0)
		r = store_flush(env->store, err);
	return r < 0 ? err_context(err, "give up uncaptured work") : 0;
}

/* A full disk half-way: what is there already gives way again, so the old state needs no more room.
 */
static void go_back(struct env *env, const struct hash *tree)
{
	struct workspace *workspace = &env->workspace;
	struct err ignored = { 0 };
	struct hash mixed, back;

	if (env_capture(env, &mixed, &ignored) >= 0 && store_flush(env->store, &ignored) >= 0 &&
		workspace->backend->become(workspace, &mixed, tree, &back, &ignored) >= 0)
		(void)history_set_pending(&env->history, env->row.name, NULL, &ignored);
}

/*
 * What could not be restored or removed leaves the live tree other than the
 * node.  That is nobody's work: remembered, it will not be taken for some.
 */
static int note_residue(
	struct env *env, const struct hash *wanted, const struct hash *became, struct err *err)
{
	char hex[HASH_HEX];

	return history_meta_set(&env->history, RESIDUE,
		hash_eq(wanted, became) ? NULL : hash_hex(became, hex), err);
}

static bool is_residue(struct env *env, const struct hash *tree)
{
	owned(arena_release) struct arena arena = { 0 };
	struct err ignored = { 0 };
	struct hash residue;
	char *text = NULL;

	return history_meta(&env->history, RESIDUE, &arena, &text, &ignored) >= 0 && text &&
	       hash_parse(text, &residue) && hash_eq(&residue, tree);
}

/*
 * Turn the live tree into wanted.  Cut off, the next command makes it that of node pending; so it
 * does after a failure, unless the live tree goes back to what it was.
 */
static int become_tree(struct op_context *ctx, const struct hash *tree, const struct hash *wanted,
	const char *pending, bool back, struct err *err)
{
	struct env *env = ctx->env;
	struct hash became;

	begin_for_good();
	/* From here on a crash is completed by the next command (env.c). */
	int r = history_set_pending(&env->history, env->row.name, pending, err);

	if (r < 0)
		return r;
	common_watch(ctx, "restoring");
	r = env->workspace.backend->become(&env->workspace, tree, wanted, &became, err);
	common_unwatch(ctx);
	if (r < 0 && back)
		go_back(env, tree);
	if (r < 0)
		return r;
	return note_residue(env, wanted, &became, err);
}

int common_find_near(
	struct op_context *ctx, struct workspace *workspace, const char *id, struct err *err)
{
	struct hash *trees = arena_alloc(ctx->arena, NEAR_MAX * sizeof(*trees));
	int n = history_near(&ctx->env->history, id, trees, NEAR_MAX, err);

	workspace->near = trees;
	workspace->n_near = n < 0 ? 0 : (size_t)n;
	return n < 0 ? n : 0;
}

/* Turn the live tree into that of node id; HEAD stays. */
static int become_node(struct op_context *ctx, const struct hash *tree, const char *id,
	struct common_moved *moved, struct err *err)
{
	struct env *env = ctx->env;
	struct treediff_options options = { .renames = false };
	int r = history_get(&env->history, id, ctx->arena, &moved->node, err);

	if (r == 0) {
		struct history_gone gone = { 0 };

		snprintf(gone.id, sizeof(gone.id), "%s", id);
		r = history_deleted(&env->history, id, &gone, err);
		return r < 0 ? r : history_refuse_gone(&gone, err);
	}
	if (r > 0)
		r = treediff_run(env->store, tree, &moved->node.tree, &options, NULL, NULL,
			&moved->changes, err);
	if (r < 0 || hash_eq(tree, &moved->node.tree))
		return r;
	r = common_find_near(ctx, &env->workspace, id, err);
	if (r >= 0)
		r = become_tree(ctx, tree, &moved->node.tree, id, !moved->given_up, err);
	if (r < 0 && moved->given_up && !err->hint[0])
		err_hint(err, "the next command that writes goes on with it; 'strata checkout "
			      "--abort' goes back to HEAD");
	return r;
}

int common_patch(
	struct op_context *ctx, const struct hash *tree, const struct hash *wanted, struct err *err)
{
	struct env *env = ctx->env;
	int r = become_tree(ctx, tree, wanted, env->row.head, true, err);

	/* Whatever came of it is work: it is in no node. */
	if (r >= 0)
		r = history_meta_set(&env->history, RESIDUE, NULL, err);
	return r < 0 ? r : history_set_pending(&env->history, env->row.name, NULL, err);
}

int common_move(struct op_context *ctx, const struct hash *tree, const char *id,
	struct common_moved *moved, struct err *err)
{
	struct env *env = ctx->env;
	int r = become_node(ctx, tree, id, moved, err);

	if (r >= 0)
		r = history_move(&env->history, env->row.name, id, "checkout", err);
	if (r >= 0)
		memcpy(env->row.head, id, NODE_ID);
	return r;
}

/* What cannot be done must not leave a safety node behind. */
static int check_step(struct op_context *ctx, int steps, struct err *err)
{
	struct env *env = ctx->env;
	struct node head;
	struct hash tree;
	char id[NODE_ID];
	int r;

	/* Uncaptured work, if there is any, is one step back of its own. */
	if (steps < 0)
		return steps < -1 ? history_step(
					    &env->history, env->row.name, steps + 1, id, NULL, err)
				  : 0;
	r = history_step(&env->history, env->row.name, steps, id, NULL, err);
	if (r >= 0)
		r = common_head(ctx, &head, err);
	if (r >= 0)
		r = env_capture(env, &tree, err);
	if (r >= 0 && !hash_eq(&tree, &head.tree) && !is_residue(env, &tree)) {
		err_set(err, ERR_INVALID, "the live tree was changed since the undo");
		return err_hint(err, "commit the change, or undo it, or use 'strata checkout'");
	}
	return r;
}

int common_step(struct op_context *ctx, int64_t steps, struct common_moved *moved, struct err *err)
{
	struct env *env = ctx->env;
	const char *op = steps < 0 ? "undo" : "redo";
	struct hash tree;
	char id[NODE_ID];
	int r;

	if (steps < -INT32_MAX || steps > INT32_MAX)
		return err_set(err, ERR_INVALID, "no journal is that long");
	r = check_step(ctx, (int)steps, err);
	if (r >= 0)
		r = running_roll_back(env, err);
	if (r >= 0)
		r = common_save_work(ctx, moved, &tree, err);
	if (r >= 0)
		r = history_step(&env->history, env->row.name, (int)steps, id, &moved->passed, err);
	if (r >= 0)
		r = become_node(ctx, &tree, id, moved, err);
	if (r >= 0)
		r = db_begin(env->db, err);
	if (r < 0)
		return r;
	for (int64_t left = steps < 0 ? -steps : steps; r >= 0 && left; left--) {
		r = history_step(&env->history, env->row.name, steps < 0 ? -1 : 1, id, NULL, err);
		if (r >= 0)
			r = history_move(&env->history, env->row.name, id, op, err);
	}
	if (r >= 0 && strcmp(id, moved->node.id))
		r = err_set(err, ERR_BUSY, "the journal changed meanwhile; try again");
	if (r < 0) {
		db_rollback(env->db);
		return r;
	}
	r = db_commit(env->db, err);
	if (r >= 0)
		memcpy(env->row.head, id, NODE_ID);
	return r;
}

static void passed_json(struct json *out, const struct history_passed *passed)
{
	char text[WHEN_ISO];

	if (!passed->count) {
		json_none(out, "passed_over");
		return;
	}
	json_open(out, "passed_over", '{');
	json_uint(out, "count", passed->count);
	json_text(out, "node", passed->nearest.id);
	json_text(out, "time", when_iso(passed->time, text));
	json_text(out, "deleted", when_iso(passed->nearest.time, text));
	json_text(out, "by", passed->nearest.retention ? "retention" : "delete");
	json_close(out);
}

void common_moved_json(struct json *out, const void *result)
{
	const struct common_moved *moved = result;

	json_text(out, "head", moved->node.id);
	json_text(out, "safety", moved->safety ? moved->saved : NULL);
	passed_json(out, &moved->passed);
	common_counts_json(out, &moved->changes);
	common_report_json(out, moved->report);
}
