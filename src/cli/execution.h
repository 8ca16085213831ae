/*
 * execution - show people the result of a command that ran in the environment.
 */
#pragma once
#include "cli/command.h"

#define EXECUTION_FAILED 125 /* exit status if strata failed before it ran the command */

/* Returns true, because standard output belongs to the command. */
bool execution_is_raw(const void *request);
/*
 * Warn about standard descriptors that are directories.  The command gets them and reaches the
 * files of the machine through them.
 */
void execution_warn(void);
int execution_print(struct output *out, const void *request, const void *result);
