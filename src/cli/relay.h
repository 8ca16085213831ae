/*
 * relay - an operation done by the owner of the workspace instead of by us.
 *
 * The owner gets the request, our environment, directory and standard descriptors, and its task is
 * us in all but name: what it prints is printed here, and its status is ours.  Signals are passed
 * on.
 */
#pragma once
#include "ops/op.h"

struct relay {
	const struct op *op;
	const void *request;
	const char *root;
	const char *workspace;
	bool json, jsonl; /* how to print the result */
};

/* 1 and the exit status; 0 when the workspace has no owner. */
int relay_run(const struct relay *relay, int *status, struct err *err);
