/* workspaces - remove a workspace, for workspaces, tournament and gc. */
#pragma once
#include "ops/env.h"

/*
 * Kill the programs of a workspace, delete it from the database and remove its live tree.  Also
 * removes a live tree without a workspace.  env is open with ENV_FORK, or holds the store alone
 * after env_enter.  Fails with ERR_BUSY if the workspace is still locked after wait_ms.
 */
int workspaces_remove(
	struct env *env, const char *name, int wait_ms, struct report *report, struct err *err);
