/*
 * relay - passes an operation to the owner of the workspace, which runs the operation.
 *
 * The owner gets the request, and the environment variables, working directory and standard
 * descriptors of this process.  So the output of the owner's task appears where this process would
 * print it.  The exit status of the task becomes the exit status of this process.  Signals are
 * passed on to the task.
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
