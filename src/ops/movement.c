#include "ops/movement.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/when.h"
#include "ops/newnode.h"
#include "ops/progress.h"
#include "ops/residue.h"
#include "ops/running.h"
#include "ops/shape.h"

#define NEAR_MAX 64 /* maximum number of trees that movement_find_near lists */

/*
 * Save uncaptured work.  If 'refuse' is set, save nothing, and return 1 if there is uncaptured
 * work.
 */
static int save_work(struct op_context *ctx, struct movement *moved, bool refuse, struct hash *tree,
	struct err *err)
{
	struct newnode commit = {
		.kind = NODE_CHECKOUT,
		.op = "safety",
		.refuse_changed = refuse,
	};
	struct node node;

	moved->report = ctx->report;
	int r = newnode_commit(ctx, &commit, &node, &moved->safety, err);

	if (r < 0 && err_is_full(err) && !err->hint[0])
		err_hint(err, "free some space, or give the uncaptured work up with 'strata "
			      "checkout REF --no-safety'");
	if (r < 0)
		return err_context(err, "keep uncaptured work");
	if (r > 0)
		return r;
	*tree = node.tree;
	if (moved->safety)
		memcpy(moved->saved, node.id, sizeof(moved->saved));
	return 0;
}

int movement_save_work(
	struct op_context *ctx, struct movement *moved, struct hash *tree, struct err *err)
{
	return save_work(ctx, moved, false, tree, err);
}

/*
 * Block SIGTERM, which cancels a request.  From now on a request can no longer be cancelled: it is
 * completed and answered.  If SIGINT or SIGKILL ends this process, the next command completes the
 * movement (recovery.c).
 */
static void defer_sigterm(void)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &term, NULL);
}

int movement_drop_work(struct op_context *ctx, const char *id, struct movement *moved,
	struct hash *tree, struct err *err)
{
	struct env *env = ctx->env;
	struct err ignored = { 0 };

	moved->report = ctx->report;
	moved->given_up = true;
	defer_sigterm();
	/*
	 * Store the target as pending, so that the next command completes a removal that is
	 * interrupted.  A failure is ignored, because a full disk must not prevent the removal.
	 */
	(void)history_set_pending(&env->history, env->row.name, id, &ignored);
	int r = workspace_discard(env->workspace, err);
	if (r >= 0)
		r = env_capture(env, tree, err);
	if (r >= 0)
		r = store_flush(env->store, err);
	return r < 0 ? err_context(err, "give up uncaptured work") : 0;
}

/*
 * Change the live tree back to *tree after a failure.  The change back works even on a full disk,
 * because it removes the files that the failed change has written.
 */
static void undo_change(struct env *env, const struct hash *tree)
{
	struct err ignored = { 0 };
	struct hash mixed = { 0 }, back;
	const struct workspace_change change = { .from = &mixed, .to = tree };

	if (env_capture(env, &mixed, &ignored) >= 0 && store_flush(env->store, &ignored) >= 0 &&
		env_apply(env, &change, &back, &ignored) >= 0)
		(void)history_set_pending(&env->history, env->row.name, NULL, &ignored);
}

/*
 * Change the live tree.  If the change is interrupted or fails, the next command turns the live
 * tree into the tree of the node 'pending'.  If 'back' is set and the change fails, the old tree is
 * restored instead, if possible.
 */
static int change_tree(struct op_context *ctx, const struct workspace_change *change,
	const char *pending, bool back, struct err *err)
{
	struct env *env = ctx->env;
	struct progress progress;
	struct hash became;

	defer_sigterm();
	int r = history_set_pending(&env->history, env->row.name, pending, err);

	if (r < 0)
		return r;
	progress_begin(&progress, ctx, "restoring");
	r = env_apply(env, change, &became, err);
	progress_end(&progress);
	if (r < 0 && back)
		undo_change(env, change->from);
	return r < 0 ? r : residue_note(env, change->to, &became, err);
}

int movement_find_near(struct op_context *ctx, const char *id, const struct hash **near,
	size_t *n_near, struct err *err)
{
	struct hash *trees = arena_alloc(ctx->arena, NEAR_MAX * sizeof(*trees));
	int n = history_near(&ctx->env->history, id, trees, NEAR_MAX, err);

	*near = trees;
	*n_near = n < 0 ? 0 : (size_t)n;
	return n < 0 ? n : 0;
}

/* Turn the live tree, which holds *tree, into the tree of the node 'id'.  HEAD stays. */
static int change_to_node(struct op_context *ctx, const struct hash *tree, const char *id,
	struct movement *moved, struct err *err)
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
	struct workspace_change change = { .from = tree, .to = &moved->node.tree };
	r = movement_find_near(ctx, id, &change.near, &change.n_near, err);
	if (r >= 0)
		r = change_tree(ctx, &change, id, !moved->given_up, err);
	if (r < 0 && moved->given_up && !err->hint[0])
		err_hint(err, "the next command that writes goes on with it; 'strata checkout "
			      "--abort' goes back to HEAD");
	return r;
}

int movement_patch(struct op_context *ctx, const struct hash *tree, const struct hash *wanted,
	struct treediff_counts *changes, struct err *err)
{
	struct env *env = ctx->env;
	const struct treediff_options options = { 0 };
	const struct workspace_change change = { .from = tree, .to = wanted };
	int r = store_flush(env->store, err);

	if (r >= 0)
		r = treediff_run(env->store, tree, wanted, &options, NULL, NULL, changes, err);
	if (r < 0 || hash_eq(tree, wanted))
		return r;
	r = change_tree(ctx, &change, env->row.head, true, err);
	/*
	 * Forget the residue of an earlier movement (residue.h).  No node has the tree *wanted, so
	 * every difference between this tree and HEAD counts as uncaptured work.
	 */
	if (r >= 0)
		r = residue_note(env, wanted, wanted, err);
	return r < 0 ? r : history_set_pending(&env->history, env->row.name, NULL, err);
}

int movement_to(struct op_context *ctx, const struct hash *tree, const char *id,
	struct movement *moved, struct err *err)
{
	struct env *env = ctx->env;
	int r = change_to_node(ctx, tree, id, moved, err);

	if (r >= 0)
		r = history_move(&env->history, env->row.name, id, "checkout", err);
	if (r >= 0)
		memcpy(env->row.head, id, NODE_ID);
	return r;
}

/* Whether the live tree equals the tree of HEAD.  Programs go on running during the comparison. */
static int is_unchanged(struct op_context *ctx, struct err *err)
{
	struct node head;
	struct hash tree;
	int r = env_head(ctx->env, ctx->arena, &head, err);

	if (r >= 0)
		r = env_capture(ctx->env, &tree, err);
	return r < 0 ? r : hash_eq(&tree, &head.tree) || residue_is(ctx->env, &tree);
}

/*
 * End programs and save uncaptured work.  Redo is refused if there is uncaptured work.  A step that
 * is not possible must neither end programs nor leave a safety node.  So redo compares the live
 * tree with HEAD before programs are ended.  Changes that programs make after the comparison are
 * saved.
 */
static int prepare_step(struct op_context *ctx, int steps, struct movement *moved,
	struct hash *tree, struct err *err)
{
	struct env *env = ctx->env;
	bool redo = steps > 0, runs = env->attached;
	char id[NODE_ID];
	int r = 0;

	/*
	 * If there is uncaptured work, the first step back undoes that work, so the journal needs
	 * one entry less.
	 */
	if (redo || steps < -1)
		r = history_step(
			&env->history, env->row.name, redo ? steps : steps + 1, id, NULL, err);
	bool changed = false;
	if (r >= 0 && redo && runs) {
		r = is_unchanged(ctx, err);
		changed = r == 0;
	}
	if (r >= 0 && !changed)
		r = running_roll_back(env, err);
	if (r >= 0 && !changed) {
		r = save_work(ctx, moved, redo && !runs, tree, err);
		changed = r > 0;
	}
	if (changed) {
		err_set(err, ERR_INVALID, "the live tree was changed since the undo");
		return err_hint(err, "commit the change, or undo it, or use 'strata checkout'");
	}
	return r;
}

int movement_step(struct op_context *ctx, int64_t steps, struct movement *moved, struct err *err)
{
	struct env *env = ctx->env;
	const char *op = steps < 0 ? "undo" : "redo";
	struct hash tree;
	char id[NODE_ID];
	int r;

	if (steps < -INT32_MAX || steps > INT32_MAX)
		return err_set(err, ERR_INVALID, "no journal is that long");
	r = prepare_step(ctx, (int)steps, moved, &tree, err);
	if (r >= 0)
		r = history_step(&env->history, env->row.name, (int)steps, id, &moved->passed, err);
	if (r >= 0)
		r = change_to_node(ctx, &tree, id, moved, err);
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

	if (!passed->count)
		return json_none(out, "passed_over");
	json_open(out, "passed_over", '{');
	json_uint(out, "count", passed->count);
	json_text(out, "node", passed->nearest.id);
	json_text(out, "time", when_iso(passed->time, text));
	json_text(out, "deleted", when_iso(passed->nearest.time, text));
	json_text(out, "by", passed->nearest.retention ? "retention" : "delete");
	json_close(out);
}

void movement_json(struct json *out, const void *result)
{
	const struct movement *moved = result;

	json_text(out, "head", moved->node.id);
	json_text(out, "safety", moved->safety ? moved->saved : NULL);
	passed_json(out, &moved->passed);
	shape_counts(out, &moved->changes);
	shape_report(out, moved->report);
}
