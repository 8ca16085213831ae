/*
 * mountproof - checks that the mounts that were made for a plan enforce the plan.
 *
 * The kernel is asked about each place, by other calls than those that made the mounts.  So a
 * mistake in the order of mounts, or a kernel that ignores a flag, leads to an error.  Without this
 * check, a command could run without its restrictions.
 */
#pragma once
#include "sandbox/mountplaces.h"

/*
 * Check all places below the directory 'root', to which the plan was applied.  Masks are not
 * entered, since the caller would have to serve the accesses.  The message of ERR_SYSTEM names the
 * place and its fault.
 */
int mountproof_run(struct mountplace *places, int root, struct err *err);
