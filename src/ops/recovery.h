/*
 * recovery - complete or undo a checkout or restore that was interrupted.
 *
 * After the interruption the live tree is partly old and partly new.  The old tree is in a node, so
 * neither completing nor undoing the checkout loses it.
 */
#pragma once
#include "ops/env.h"

/*
 * Complete an interrupted checkout or restore.  If env is open with ENV_ABORT, undo it instead.
 * The outcome is noted in the report, and so is each file that could not be restored.  recovery_run
 * acts only if env is open for writing to the live tree.
 */
int recovery_run(struct env *env, struct report *report, struct err *err);
