/* workspaces - removes a workspace, for the operations workspaces, tournament and gc. */
#pragma once
#include "ops/env.h"

/*
 * Kill the programs of a workspace, delete the workspace from the database and remove its live
 * tree.  A live tree without a workspace is removed, too.  env is open with ENV_FORK.  If it is
 * open in another way, env_enter was called, and no other process uses the store.  Fails with
 * ERR_BUSY if the workspace is still locked after wait_ms.
 */
int workspaces_remove(
	struct env *env, const char *name, int wait_ms, struct report *report, struct err *err);
