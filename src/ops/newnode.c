#include "ops/newnode.h"

#include <string.h>

#include "core/own.h"
#include "core/when.h"
#include "ops/denied.h"
#include "ops/progress.h"
#include "ops/residue.h"
#include "ops/running.h"

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

int newnode_summarise(struct op_context *ctx, struct node *node, const struct hash *before,
	const char *label, struct err *err)
{
	struct treediff_options options = { .renames = true };
	struct summary summary = { ctx->arena, node };
	int r;

	node->paths = arena_alloc(ctx->arena, NODE_PATHS_MAX * sizeof(*node->paths));
	r = treediff_run(ctx->env->store, before, &node->tree, &options, note_path, &summary,
		&node->counts, err);
	/* If the old tree is damaged, the node is made all the same, but without a summary. */
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

struct node_bind *newnode_binds(const struct bindspecs *binds, struct arena *arena)
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

/* Record in node the binds of the command and of the running programs. */
static void add_binds(struct op_context *ctx, const struct newnode *commit, struct node *node)
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
	node->binds = newnode_binds(&joined, ctx->arena);
}

/* Make a node that has the tree *tree and the parent *head, and move HEAD to the new node. */
static int add_node(struct op_context *ctx, const struct newnode *commit, const struct hash *tree,
	const struct node *head, struct node *node, struct err *err)
{
	struct env *env = ctx->env;
	size_t n = commit->command.count;
	struct str *command = arena_alloc(ctx->arena, (n + 1) * sizeof(*command));
	int r;

	for (size_t i = 0; i < n; i++)
		command[i] = str_of(commit->command.list[i]);
	*node = (struct node){
		.tree = *tree,
		.time = when_now(),
		.kind = commit->kind,
		.message = commit->message ? str_of(commit->message) : STR(""),
		.command = command,
		.n_command = n,
		.has_status = commit->has_status,
		.exit_status = commit->exit_status,
		.duration = commit->duration,
	};
	if (node->message.len > NODE_MESSAGE_MAX)
		return err_set(err, ERR_LIMIT, "message longer than %zu bytes", NODE_MESSAGE_MAX);
	add_binds(ctx, commit, node);
	denied_take(env, ctx->arena, node);
	memcpy(node->made_from, head->id, sizeof(node->made_from));
	store_flush_ahead(env->store);
	r = newnode_summarise(ctx, node, &head->tree, commit->op, err);
	if (r >= 0)
		r = history_add(&env->history, node, env->row.name, commit->op, err);
	if (r < 0)
		return r;
	memcpy(env->row.head, node->id, sizeof(env->row.head));
	return 0;
}

/*
 * Report the files that a program has mapped for writing.  The capture found no change in these
 * files, but the program may have changed them in its memory.
 */
static void report_mapped(struct op_context *ctx)
{
	owned(mapped_release) struct mapped mapped = { 0 };

	env_mapped(ctx->env, &mapped);
	for (size_t i = 0; i < mapped.n; i++)
		if (mapped.files[i].path)
			report_add(ctx->report, REPORT_MAPPED, str_of(mapped.files[i].path),
				"a program has it mapped into its memory for writing");
}

int newnode_commit(struct op_context *ctx, const struct newnode *commit, struct node *node,
	bool *made, struct err *err)
{
	struct env *env = ctx->env;
	struct progress progress;
	struct hash tree;
	struct node head;
	int r = env_head(ctx->env, ctx->arena, &head, err);

	*made = false;
	/*
	 * End the sandbox before the capture, if no program runs in it.  Without a sandbox, it is
	 * certain that no program writes after the capture.
	 */
	bool over = running_dismiss(env);
	progress_begin(&progress, ctx, "scanning");
	if (r >= 0)
		r = running_freeze(env, ctx->report, err);
	if (r >= 0)
		r = env_capture(env, &tree, err);
	running_thaw(env);
	progress_end(&progress);
	if (r < 0)
		return r;
	bool nothing_new = hash_eq(&tree, &head.tree) ||
			   (commit->kind == NODE_CHECKOUT && residue_is(env, &tree));
	if (!nothing_new && commit->refuse_changed)
		return 1;
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
	/*
	 * The node is made.  The index is only a cache, so the old index is dropped if the new one
	 * cannot be saved.
	 */
	struct err cache = { 0 };
	if (workspace_save_index(env->workspace, &cache) < 0)
		(void)workspace_forget(env->rootfd, env->row.name, &cache);
	else if (over)
		(void)workspace_freeze(env->workspace, &tree, &cache);
	return 0;
}

int newnode_commit_row(struct op_context *ctx, const struct newnode *commit, struct noderow *row,
	bool *made, struct err *err)
{
	struct node *node = arena_alloc(ctx->arena, sizeof(*node));
	int r = newnode_commit(ctx, commit, node, made, err);

	return r < 0 ? r : noderow_fill(ctx, ctx->arena, node, row, err);
}
