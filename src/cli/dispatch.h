/*
 * dispatch - find the command, fill its request, run its operation, print what came of it.
 */
#pragma once
#include "ops/op.h"
#include "owner/relayedop.h"

/* A whole command line; the exit status. */
int dispatch_run(int argc, char **argv);
/* What an owner does for another strata, whose descriptors and variables we have. */
int dispatch_relayed(const struct op *op, const struct relayedop *relayed);
