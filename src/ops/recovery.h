/*
 * recovery - end a checkout or restore that was cut off.
 *
 * The live tree is part old, part new then.  What was there before is in a node, so neither
 * completing nor undoing it loses anything.
 */
#pragma once
#include "ops/env.h"

/*
 * In an environment opened for writing the workspace: complete what was cut off, or undo it with
 * ENV_ABORT.  That goes to report, and so does what could not be restored.  Nothing
 * happens where nothing was cut off, or in an environment that is open for less.
 */
int recovery_run(struct env *env, struct report *report, struct err *err);
