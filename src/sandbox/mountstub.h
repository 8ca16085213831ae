/*
 * mountstub - names that programs shall not make, made beforehand.
 *
 * A name that does not exist cannot be protected by a mount.  So an empty directory or file is made
 * to mount on.  It has a mark, by which others know it, and is removed when nobody needs it.
 */
#pragma once
#include "sandbox/mountplan.h"

/* Make the stubs of the plan below the directory root, where programs could make the names. */
int mountstub_make(struct mountplan_made *made, int root, struct err *err);
/*
 * Remove all stubs that nobody has used, and that no other plan needs.  They must not be mount
 * points in this mount namespace.
 */
void mountstub_remove_all(struct mountplan_made *made);
/* Forget the stubs, which stay. */
void mountstub_close_all(struct mountplan_made *made);
