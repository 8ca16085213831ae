/*
 * dispatch - find the command, fill its request, run its operation, print what came of it.
 */
#pragma once
#include <stdbool.h>

/* A whole command line; the exit status.  relayed: by an owner, for another strata. */
int dispatch_run(int argc, char **argv, bool relayed);
