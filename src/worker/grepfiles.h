/*
 * grepfiles - the request grep: finds the lines that match a pattern, in files below a directory.
 *
 * The pattern is a regular expression of pcre2.  It is matched within one line, without the "\n" or
 * "\r\n" of the line.  A file with a NUL among its first bytes is binary and left out.  The search
 * of any other file ends at a NUL, and at a line longer than GREPFILES_LINE_MAX.  Only files that
 * match the glob 'include' of the request are searched.  A glob without a slash is compared with
 * the name of a file, and any other glob with the path relative to the root.
 */
#pragma once
#include "worker/fileops.h"

#define GREPFILES_LINE_MAX ((size_t)1 << 20)
#define GREPFILES_TEXT_MAX ((size_t)64 << 10) /* maximum bytes of a line in the reply */
#define GREPFILES_MATCHES_MAX 10000           /* limit for a request without max_matches */

int grepfiles_run(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
