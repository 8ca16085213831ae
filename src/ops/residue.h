/*
 * residue - what a movement could not restore or remove.
 *
 * It leaves the live tree other than the node.  That is nobody's work: remembered, it will
 * not be taken for some.
 */
#pragma once
#include "ops/env.h"

/* The live tree was to be wanted and became another, or, with both the same, what was wanted. */
int residue_note(
	struct env *env, const struct hash *wanted, const struct hash *became, struct err *err);
/* Whether tree differs from HEAD's by nothing but that. */
bool residue_is(struct env *env, const struct hash *tree);
