/*
 * relay - a command done by the owner of the workspace instead of by us.
 *
 * The owner gets our command line, environment, directory and standard descriptors, and its task is
 * us in all but name: what it prints is printed here, and its status is ours.  Signals are passed
 * on.
 */
#pragma once
#include "core/err.h"

/* 1 and the exit status; 0 when the workspace has no owner; argv begins with the command. */
int relay_run(const char *root, const char *workspace, int argc, char **argv, int *status,
	struct err *err);
