/*
 * execution - how people see a command that ran in the environment.
 */
#pragma once
#include "cli/command.h"

#define EXECUTION_FAILED 125 /* exit status when strata failed before running it */

/* Returns true, because standard output is the command's. */
bool execution_is_raw(const void *request);
/*
 * Warn about standard descriptors that are directories.  The command gets them and reaches the
 * files of the machine through them.
 */
void execution_warn(void);
int execution_print(struct output *out, const void *request, const void *result);
