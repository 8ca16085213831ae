/*
 * relay - has the owner of the workspace run an operation in place of this process.
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

/*
 * Have the owner run the operation.  Returns 1 and sets *status to the exit status of the
 * operation.  Returns 0 if this process has to run the operation itself, because it cannot connect
 * to an owner.
 */
int relay_run(const struct relay *relay, int *status, struct err *err);
