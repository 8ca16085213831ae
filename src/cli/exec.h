/*
 * exec - how people see a command that ran in the environment.
 */
#pragma once
#include "cli/command.h"

#define EXEC_FAILED 125 /* exit status when strata failed before running it */

/* Standard output is the command's. */
bool exec_is_raw(const void *request);
int exec_print_result(struct output *out, const void *request, const void *result);
