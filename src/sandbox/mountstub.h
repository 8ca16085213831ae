/*
 * mountstub - makes names that programs must not make, before the programs run.
 *
 * A mount cannot protect a name that does not exist.  So an empty directory or file is made as a
 * mount point.  Other plans recognise this stub by a mark.  A stub is removed when no plan needs it
 * any more.
 */
#pragma once
#include "sandbox/mountplan.h"

/*
 * Make the stubs of the plan below the directory 'root'.  A stub is made only where programs could
 * make the name.
 */
int mountstub_make(struct mountplan_made *made, int root, struct err *err);
/*
 * Remove all stubs that no program has used and no other plan needs.  These stubs must not be mount
 * points in this mount namespace.
 */
void mountstub_remove_all(struct mountplan_made *made);
/* Close the descriptors of the stubs.  Stubs that were not removed stay in the tree. */
void mountstub_close_all(struct mountplan_made *made);
