/*
 * residue - the files that a movement could not restore or remove.
 *
 * Because of a residue, the live tree differs from the node of HEAD.  The tree of the live tree is
 * stored, so that this difference is not taken for uncaptured work.
 */
#pragma once
#include "ops/env.h"

/*
 * Compare *wanted, the tree that a movement was to make, with *became, the tree that the live tree
 * has now.  If they differ, store *became.  If they are the same, forget the last residue.
 */
int residue_note(
	struct env *env, const struct hash *wanted, const struct hash *became, struct err *err);
/* Whether *tree is the stored tree.  That tree differs from HEAD's tree only by the residue. */
bool residue_is(struct env *env, const struct hash *tree);
