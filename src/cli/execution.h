/*
 * execution - how people see a command that ran in the environment.
 */
#pragma once
#include "cli/command.h"

#define EXECUTION_FAILED 125 /* exit status when strata failed before running it */

/* Standard output is the command's. */
bool execution_is_raw(const void *request);
/*
 * Say which of our standard descriptors, which the command gets, is a directory: through it the
 * command reaches the files of the machine.
 */
void execution_warn(void);
int execution_print(struct output *out, const void *request, const void *result);
