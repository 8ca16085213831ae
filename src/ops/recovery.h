/*
 * recovery - complete or undo a checkout or restore that was interrupted.
 *
 * After the interruption the live tree is partly old and partly new.  The old tree is in a node, so
 * nothing is lost either way.
 */
#pragma once
#include "ops/env.h"

/*
 * Complete an interrupted checkout or restore.  If env is open with ENV_ABORT, undo it instead.
 * The outcome is noted in the report, and so is each file that could not be restored.  Nothing is
 * done if nothing was interrupted, or if env is not open for writing the live tree.
 */
int recovery_run(struct env *env, struct report *report, struct err *err);
