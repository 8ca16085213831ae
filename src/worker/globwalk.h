/*
 * globwalk - the request glob: lists the names below a directory that match a pattern.
 *
 * The pattern (text_glob) is compared with paths relative to the root of the request.  An absolute
 * pattern is compared with paths relative to "/".  The walk begins in the directory that the
 * pattern names before its first wildcard.  Directories that match are listed, too.
 */
#pragma once
#include "worker/fileops.h"

int globwalk_run(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
