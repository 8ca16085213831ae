#include "ops/recovery.h"

#include <stdio.h>
#include <string.h>

#include "core/when.h"
#include "ops/running.h"

/*
 * Make a node of the live tree as it was found, because programs may have written into it during
 * the interrupted checkout.  HEAD does not move.
 */
static int keep_found(struct env *env, const struct hash *now, char found[NODE_ID], struct err *err)
{
	struct node node = {
		.tree = *now,
		.time = when_now(),
		.kind = NODE_CHECKOUT,
		.message = STR("as found after an interrupted checkout"),
	};

	memcpy(node.made_from, env->row.head, sizeof(node.made_from));
	int r = history_add(&env->history, &node, NULL, NULL, err);
	memcpy(found, node.id, NODE_ID);
	return r;
}

/*
 * Report how the checkout ended.  'found' is the id of the node that keep_found made, or "" if
 * there is no such node.
 */
static void report_end(struct report *report, const char *target, const char *found, bool aborted)
{
	const char *what = aborted ? "undone" : "completed";

	if (*found)
		report_add(report, REPORT_COMPLETED, STR(""),
			"the interrupted checkout was %s: the live tree is that of %s; what was "
			"found there is in %s",
			what, target, found);
	else
		report_add(report, REPORT_COMPLETED, STR(""),
			"the interrupted checkout was %s: the live tree is that of %s", what,
			target);
}

/*
 * Turn the live tree into the tree of the node 'target', and move HEAD to this node.  Before this
 * call, HEAD has the value from before the checkout.  An interrupted restore is always undone,
 * because a restore stores HEAD as the pending node.
 */
static int end_checkout(
	struct env *env, const char *target, bool aborted, struct report *report, struct err *err)
{
	char found[NODE_ID] = "";
	struct node node;
	struct hash now, became;
	int r = history_get(&env->history, target, &env->arena, &node, err);

	if (r <= 0)
		return r < 0 ? r : err_set(err, ERR_CORRUPT, "node %s is missing", target);
	r = env_capture(env, &now, err);
	if (r >= 0 && !hash_eq(&now, &node.tree))
		r = keep_found(env, &now, found, err);
	if (r >= 0)
		r = env_apply(env, &(struct workspace_change){ .from = &now, .to = &node.tree },
			&became, err);
	/* If HEAD is already the target, the journal gets no movement. */
	if (r >= 0 && !strcmp(target, env->row.head))
		r = history_set_pending(&env->history, env->row.name, NULL, err);
	else if (r >= 0)
		r = history_move(&env->history, env->row.name, target, "checkout", err);
	if (r >= 0)
		report_end(report, target, found, aborted);
	return r;
}

int recovery_run(struct env *env, struct report *report, struct err *err)
{
	char target[NODE_ID];
	bool abort = env->access == ENV_ABORT;

	if (!env->row.pending || !env_writes_live(env))
		return 0;
	snprintf(target, sizeof(target), "%s", abort ? env->row.head : env->row.pending);
	/*
	 * After a checkout --live, programs may be running.  They go on, so their tree is changed
	 * in place and not replaced.
	 */
	int r = abort ? running_kill(env, err) : running_show(env, err);
	if (r >= 0)
		r = end_checkout(env, target, abort, report, err);
	if (r < 0)
		return err_context(err, "%s the interrupted checkout of %s",
			abort ? "undo" : "complete", env->row.pending);
	memcpy(env->row.head, target, sizeof(env->row.head));
	env->row.pending = NULL;
	return 0;
}
