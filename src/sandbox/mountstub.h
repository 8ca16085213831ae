/*
 * mountstub - names that programs shall not make, made beforehand.
 *
 * A name that does not exist cannot be protected by a mount.  So an empty directory or file is made
 * to mount on.  It has a mark, by which other plans recognise it, and is removed when no plan needs
 * it any more.
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
/* Close the descriptors of the stubs.  Stubs that were not removed stay in the tree. */
void mountstub_close_all(struct mountplan_made *made);
