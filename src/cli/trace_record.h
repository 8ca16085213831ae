/*
 * trace_record - strata trace in its running form: run a command, leave a bundle.
 */
#pragma once
#include "core/err.h"

/* argv[0] is "trace".  The exit status is the command's. */
int trace_record_run(int argc, char **argv, struct err *err);
