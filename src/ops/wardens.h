/*
 * wardens - waits until no command of a workspace has a warden any more (confine/warden.h).
 *
 * A warden makes stubs in the live tree and removes them when its command has ended (core/stub.h).
 * Both happen through the mounts of the command's sandbox.  Two overlays must not change the same
 * upper directory.  So the next sandbox, and a checkout, wait until the wardens of the last sandbox
 * have ended.  Each warden holds a shared lock on ROOT/run/NAME.wardens.
 */
#pragma once
#include "ops/env.h"

/*
 * A warden that is killed leaves three things: its socket, stubs in the live tree, and stubs in
 * directories of the host that were bound.  strata removes all three when it finds a warden dead.
 * If strata was killed, too, the functions below remove them as soon as no warden is left.  The
 * next node then records that a warden was killed.  ROOT/run/NAME.stubs has the names of stubs in
 * binds.
 */

/*
 * Take the shared lock for a warden that is about to be made.  The warden inherits the lock.
 * Returns the descriptor of the lock.
 */
int wardens_join(struct env *env, struct err *err);
/* Open the file that the names of stubs in binds are appended to.  Called after wardens_join. */
int wardens_record(struct env *env, struct err *err);
/*
 * Wait for a short time until no warden is left.  Returns true if none is left.  Called for a
 * workspace without a sandbox, because wardens end with their sandbox.
 */
bool wardens_wait(struct env *env);
