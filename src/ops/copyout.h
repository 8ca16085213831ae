/* copyout - copy a file or directory of a node, or of the live tree, to the host. */
#pragma once
#include "ops/requests.h"

/*
 * Copy a path of a tree to 'host', which is a path of the host.  If 'host' is "-", copy to standard
 * output.  Each file is written under a temporary name and then renamed, so that no program sees
 * half a file.
 */
int copyout_run(struct op_context *ctx, const struct hash *tree, struct str path, const char *host,
	struct cp_result *result, struct err *err);
