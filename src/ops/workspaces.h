/*
 * workspaces - the end of a workspace, for the operations that end some.
 */
#pragma once
#include "ops/env.h"

/*
 * End what runs in a workspace, forget it and remove its live tree; also of one nobody knows
 * (any more), whose tree was left.  env is open with ENV_FORK, or holds the store alone
 * and has entered.
 * Waits so long for others to be done with it, else ERR_BUSY.
 */
int workspaces_remove(
	struct env *env, const char *name, int wait_ms, struct report *report, struct err *err);
