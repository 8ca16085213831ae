/*
 * dispatch - find the command, fill its request, run its operation, print the result.
 */
#pragma once
#include "ops/op.h"
#include "owner/relayedop.h"

/* Run a whole command line.  Returns the exit status. */
int dispatch_run(int argc, char **argv);
/*
 * Run an operation for another strata process, whose descriptors and environment variables this
 * process has.  Returns the exit status.
 */
int dispatch_relayed(const struct op *op, const struct relayedop *relayed);
