/*
 * truepath - the path of the file that a path leads to, found without looking at masked files.
 *
 * The warden answers every look at a masked file.  If it looked at one itself, it would wait for
 * its own answer.  So links are resolved one name at a time, and nothing in a masked directory is
 * looked at.  Programs inside may change links meanwhile, so the result only explains.
 */
#pragma once
#include "core/buf.h"
#include "sandbox/mountplan.h"

/*
 * Write the true path of an absolute path, which has no "." and "..", to out.  Names that do not
 * exist, or lie in a masked directory, are added as they are.  Returns false if there are too many
 * links.
 */
bool truepath_find(const struct mountplan_made *mounts, const char *path, struct buf *out);
