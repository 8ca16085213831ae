/*
 * mountproof - looks whether the mounts that were made for a plan say what the plan says.
 *
 * It asks the kernel about each place, by another way than the one by which the mounts were made.
 * So a mistake in the order of mounts, or a kernel that ignores a flag, ends in an error and not in
 * a command without its restrictions.
 */
#pragma once
#include "sandbox/mountplaces.h"

/*
 * The places are those of the tree below the directory root, in which the plan holds.  Masks are
 * not entered, since the caller would have to answer.  ERR_SYSTEM names the place and what is wrong
 * with it.
 */
int mountproof_run(struct mountplace *places, int root, struct err *err);
