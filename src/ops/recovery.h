/*
 * recovery - complete or undo a checkout or restore that was interrupted.
 *
 * The live tree is partly old and partly new then.  The old tree is in a node, so neither way loses
 * anything.
 */
#pragma once
#include "ops/env.h"

/*
 * Complete what was interrupted, or undo it with ENV_ABORT.  Both are noted in report, as are files
 * that could not be restored.  Does nothing if nothing was interrupted, or if env is not open for
 * writing the live tree.
 */
int recovery_run(struct env *env, struct report *report, struct err *err);
