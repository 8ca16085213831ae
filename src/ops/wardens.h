/*
 * wardens - whether a command of a workspace still has a warden (confine/warden.h).
 *
 * A warden makes stubs in the live tree and removes them when its command has ended (core/stub.h).
 * It does so through the mounts of the command's sandbox.  So the next sandbox, and a checkout,
 * wait until the wardens of the last one are gone: two overlays must not change one upper
 * directory. Each warden holds a shared lock on ROOT/run/NAME.wardens.
 */
#pragma once
#include "ops/env.h"

/* Returns the lock of a warden that is about to be made, which inherits it. */
int wardens_join(struct env *env, struct err *err);
/*
 * Wait until no warden is left, for a moment.  For a workspace without a sandbox: the wardens of
 * the last one end with it.  Returns whether none is left.
 */
bool wardens_wait(struct env *env);
