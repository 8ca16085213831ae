/* copyin - copy a file or directory of the host into the live tree. */
#pragma once
#include "ops/requests.h"

/*
 * Copy 'host', a file or directory of the host, to a path of the live tree.  If 'host' is "-", copy
 * standard input.  The content is read into the store first.  Then the live tree is turned into a
 * tree that contains the copy.  The operation 'restore' changes the live tree in the same way.
 */
int copyin_run(struct op_context *ctx, const char *host, struct str path, struct cp_result *result,
	struct err *err);
