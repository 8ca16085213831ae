/*
 * truepath - finds the true path of a file without looking at masked files.
 *
 * The warden answers every access to a masked file.  If the warden made such an access itself, it
 * would wait for its own answer.  So links are resolved one name at a time, and nothing in a masked
 * directory is read.  Programs in the sandbox may change links meanwhile, so the result is used
 * only for explanations.
 */
#pragma once
#include "core/buf.h"
#include "sandbox/mountplan.h"

/*
 * Set 'out' to the true path of an absolute path without "." and "..".  Names that do not exist, or
 * lie in a masked directory, are added unchanged.  Returns false if there are too many links.
 */
bool truepath_find(const struct mountplan_made *mounts, const char *path, struct buf *out);
