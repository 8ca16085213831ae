/*
 * copyin - a file or directory of the host into the live tree.
 */
#pragma once
#include "ops/requests.h"

/*
 * Copy host ("-": standard input) to a path of the live tree.  Its content and attributes are read
 * into the store first, and the live tree is then turned into one that has them, as restore does.
 */
int copyin_run(struct op_context *ctx, const char *host, struct str path, struct cp_result *result,
	struct err *err);
