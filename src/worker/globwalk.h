/*
 * globwalk - the request glob: the names below a directory that match a pattern.
 *
 * The pattern (text_glob) is compared with paths relative to the root of the request, or to "/" if
 * it is absolute.  The walk begins in the directory to which the first names of the pattern lead,
 * those without wildcards.  Directories that match are listed, too.
 */
#pragma once
#include "worker/fileops.h"

int globwalk_run(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
