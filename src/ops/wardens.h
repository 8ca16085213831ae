/*
 * wardens - waits until no command of a workspace has a warden any more (confine/warden.h).
 *
 * A warden makes stubs in the live tree (core/stub.h), and removes them when its command has ended.
 * It does both through the mounts of the command's sandbox.  Meanwhile no other sandbox may mount
 * the live tree, because two overlays must not change the same upper directory.  So the next
 * sandbox, and a checkout, wait until the wardens of the last sandbox have ended.  Each warden
 * holds a shared lock on ROOT/run/NAME.wardens.
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
/* Open the file that the names of stubs in binds are appended to.  Call wardens_join first. */
int wardens_record(struct env *env, struct err *err);
/*
 * Wait until no warden is left, but only for a short time.  Returns true if no warden is left.  To
 * be called for a workspace without a sandbox, because a warden may go on as long as the sandbox
 * exists.
 */
bool wardens_wait(struct env *env);
