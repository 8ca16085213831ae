/* dispatch - finds the command, fills its request, runs its operation and prints the result. */
#pragma once
#include "ops/op.h"
#include "owner/relayedop.h"

/* Run a whole command line.  Returns the exit status. */
int dispatch_run(int argc, char **argv);
/*
 * Run an operation that another strata process has relayed.  This process already has the
 * descriptors and the environment variables of that process.  Returns the exit status.
 */
int dispatch_relayed(const struct op *op, const struct relayedop *relayed);
