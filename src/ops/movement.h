/*
 * movement - turn the live tree into another tree, and move HEAD with it.
 *
 * Work that is in no node yet is saved in a safety node first, or given up on request.  The
 * target is then written down as pending, so that a movement that is cut off is
 * completed by the next command that writes (recovery.h).
 */
#pragma once
#include "ops/op.h"
#include "ops/shape.h"

/* What a movement did. */
struct movement {
	struct node node;               /* where HEAD is now */
	bool safety;                    /* uncaptured work was kept in */
	char saved[NODE_ID];            /* this node */
	struct treediff_counts changes; /* of the live tree */
	struct history_passed passed;   /* by undo or redo */
	bool given_up;                  /* uncaptured work was: there is no way back to it */
	const struct report *report;
};

/* Keep uncaptured work in a safety node; *tree is the live tree. */
int movement_save_work(
	struct op_context *ctx, struct movement *moved, struct hash *tree, struct err *err);
/* Give uncaptured work up instead, which frees its room, on the way to node id. */
int movement_drop_work(struct op_context *ctx, const char *id, struct movement *moved,
	struct hash *tree, struct err *err);
/* Turn the live tree (which is tree) into node id and move HEAD there. */
int movement_to(struct op_context *ctx, const struct hash *tree, const char *id,
	struct movement *moved, struct err *err);
/* The same as movement_to along the journal: steps < 0 undo, > 0 redo. */
int movement_step(struct op_context *ctx, int64_t steps, struct movement *moved, struct err *err);
/*
 * Turn the live tree (which is tree and HEAD's) into wanted, of which no node need
 * be; cut off, it becomes HEAD's again.
 */
int movement_patch(struct op_context *ctx, const struct hash *tree, const struct hash *wanted,
	struct err *err);
/* Trees that are likely near to that of node id, in ctx->arena. */
int movement_find_near(struct op_context *ctx, const char *id, const struct hash **near,
	size_t *n_near, struct err *err);
#define MOVEMENT_SHAPE                                                                             \
	"head:text safety:text? "                                                                  \
	"passed_over:{count:int node:text time:text deleted:text by:text}? " SHAPE_COUNTS          \
		SHAPE_REPORT
void movement_json(struct json *out, const void *moved);
