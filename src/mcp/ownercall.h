/*
 * ownercall - calls a method of the process that owns a workspace (docs/PROTOCOL.md).
 *
 * While an owner runs, it performs everything that writes, so that it knows of each change.
 */
#pragma once
#include "mcp/exectool.h"

/*
 * Call the method of an operation over fd.  given is the request struct of the operation.  *answer
 * becomes the line that the owner answers.  The output of a command goes to output.
 */
int ownercall_run(struct request *request, int fd, const struct op *op, const void *given,
	struct exectool_output *output, struct buf *answer, struct err *err);
