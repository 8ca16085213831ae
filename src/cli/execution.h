/* execution - prints the result of a command that ran in the environment. */
#pragma once
#include "cli/command.h"

#define EXECUTION_FAILED 125 /* exit status if strata failed before it could run the command */

/* Returns true, because standard output belongs to the command. */
bool execution_is_raw(const void *request);
/*
 * Print a warning for each standard descriptor that is a directory.  The command inherits the
 * descriptor, and can reach files of the machine through it.
 */
void execution_warn(void);
int execution_print(struct output *out, const void *request, const void *result);
