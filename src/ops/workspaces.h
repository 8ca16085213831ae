/* workspaces - removes a workspace, for the operations workspaces, tournament and gc. */
#pragma once
#include "ops/env.h"

/*
 * Kill the programs of a workspace, delete the workspace from the database and remove its live
 * tree.  A live tree without a workspace is removed, too.  The caller must have opened env with
 * ENV_FORK.  Or the caller must have called env_enter, and must be the only process that uses the
 * store.  Fails with ERR_BUSY if the workspace is still locked after wait_ms.
 */
int workspaces_remove(
	struct env *env, const char *name, int wait_ms, struct report *report, struct err *err);
