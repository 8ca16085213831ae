/*
 * recovery - complete or undo a checkout or restore that was interrupted.
 *
 * After the interruption the live tree is partly old and partly new.  The old tree is in a node, so
 * nothing is lost either way.
 */
#pragma once
#include "ops/env.h"

/*
 * Complete an interrupted checkout or restore, or undo it if env is open with ENV_ABORT.  The
 * report says which was done, and which files could not be restored.  Does nothing if nothing was
 * interrupted, or if env is not open for writing the live tree.
 */
int recovery_run(struct env *env, struct report *report, struct err *err);
