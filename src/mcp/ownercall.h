/*
 * ownercall - calls a method of the process that owns a workspace (docs/PROTOCOL.md).
 *
 * While a workspace has an owner, the owner performs all operations that write.  So the owner knows
 * of each change.
 */
#pragma once
#include "mcp/exectool.h"

/*
 * Call the method of an operation over the connection 'fd'.  'given' is the request struct of the
 * operation.  *answer becomes the line with the owner's answer.  If the operation runs a command,
 * the output of the command is added to *output.
 */
int ownercall_run(struct request *request, int fd, const struct op *op, const void *given,
	struct exectool_output *output, struct buf *answer, struct err *err);
