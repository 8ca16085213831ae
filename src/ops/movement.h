/*
 * movement - turns the live tree into another tree, and moves HEAD with it.
 *
 * Uncaptured work is first saved in a safety node, or given up on request.  Then the target is
 * stored as pending.  So the next command that writes completes a movement that was interrupted
 * (recovery.h).
 */
#pragma once
#include "ops/op.h"
#include "ops/shape.h"

/* The result of a movement. */
struct movement {
	struct node node;               /* the node of HEAD after the movement */
	bool safety;                    /* uncaptured work was saved */
	char saved[NODE_ID];            /* id of the safety node */
	struct treediff_counts changes; /* changes of the live tree */
	struct history_passed passed;   /* deleted nodes that undo or redo passed over */
	bool given_up; /* uncaptured work was given up, and cannot be brought back */
	const struct report *report;
};

/* Save uncaptured work in a safety node.  *tree becomes the tree of the live tree. */
int movement_save_work(
	struct op_context *ctx, struct movement *moved, struct hash *tree, struct err *err);
/*
 * Give up uncaptured work before a movement to the node 'id'.  This frees disk space.  *tree
 * becomes the tree that the live tree has afterwards.
 */
int movement_drop_work(struct op_context *ctx, const char *id, struct movement *moved,
	struct hash *tree, struct err *err);
/*
 * Turn the live tree into the tree of the node 'id', and move HEAD to this node.  *tree must be the
 * present tree of the live tree.
 */
int movement_to(struct op_context *ctx, const struct hash *tree, const char *id,
	struct movement *moved, struct err *err);
/* Save uncaptured work, and move along the journal.  Negative steps undo, positive steps redo. */
int movement_step(struct op_context *ctx, int64_t steps, struct movement *moved, struct err *err);
/*
 * Turn the live tree into *wanted, which need not be the tree of a node.  *tree must be the tree of
 * HEAD, and the live tree must be equal to *tree.  If the change is interrupted, the next command
 * turns the live tree into HEAD's tree again.  *changes counts the differences.
 */
int movement_patch(struct op_context *ctx, const struct hash *tree, const struct hash *wanted,
	struct treediff_counts *changes, struct err *err);
/*
 * List the trees of nodes near the node 'id'.  These trees are probably similar to the tree of that
 * node.  The list is in ctx->arena.
 */
int movement_find_near(struct op_context *ctx, const char *id, const struct hash **near,
	size_t *n_near, struct err *err);
#define MOVEMENT_SHAPE                                                                             \
	"head:text safety:text? "                                                                  \
	"passed_over:{count:int node:text time:text deleted:text by:text}? " SHAPE_COUNTS          \
		SHAPE_REPORT
void movement_json(struct json *out, const void *moved);
