/*
 * grepfiles - the request grep: the lines of files below a directory that match a pattern.
 *
 * The pattern is one of pcre2, and is matched within one line, without its "\n" or "\r\n".  A file
 * with a NUL among its first bytes is binary and left out; the search of any other file ends at a
 * NUL, and at a line longer than GREPFILES_LINE_MAX.  include is compared with the name of a file,
 * or if it has a slash with the path relative to the root.
 */
#pragma once
#include "worker/fileops.h"

#define GREPFILES_LINE_MAX ((size_t)1 << 20)
#define GREPFILES_TEXT_MAX ((size_t)64 << 10) /* most bytes of a line in the reply */
#define GREPFILES_MATCHES_MAX 10000           /* if the request has no max_matches */

int grepfiles_run(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
