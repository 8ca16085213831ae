/* copyin - copy a file or directory of the host into the live tree. */
#pragma once
#include "ops/requests.h"

/*
 * Copy host to a path of the live tree ("-": copy standard input).  The file is read into the store
 * first.  Then the live tree is turned into a tree that contains the file, as restore does.
 */
int copyin_run(struct op_context *ctx, const char *host, struct str path, struct cp_result *result,
	struct err *err);
