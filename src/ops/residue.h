/*
 * residue - what a movement could not restore or remove.
 *
 * A residue makes the live tree differ from the node.  The tree that the live tree holds is
 * remembered, so that this difference is not taken for uncaptured work.
 */
#pragma once
#include "ops/env.h"

/*
 * Remember that the live tree became another tree than wanted.  If both are the same, forget the
 * last residue.
 */
int residue_note(
	struct env *env, const struct hash *wanted, const struct hash *became, struct err *err);
/* Whether tree is the tree remembered, which differs from HEAD's only by the residue. */
bool residue_is(struct env *env, const struct hash *tree);
