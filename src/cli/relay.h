/*
 * relay - has the owner of the workspace run an operation.
 *
 * The owner gets the request, and this process's environment variables, working directory and
 * standard descriptors.  So the output of the owner's task appears where this process would print
 * it, and the task's status becomes the status of this process.  Signals are passed on to the task.
 */
#pragma once
#include "ops/op.h"

struct relay {
	const struct op *op;
	const void *request;
	const char *root;
	const char *workspace;
	bool json, jsonl; /* the format in which the result is printed */
};

/* Returns 1 and the exit status in *status, or 0 if the workspace has no owner. */
int relay_run(const struct relay *relay, int *status, struct err *err);
