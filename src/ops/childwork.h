/*
 * childwork - run a function in a child process, and wait for its result.
 *
 * Some work must not happen in this process: once it has entered another user namespace, the files
 * of an environment would have other owners for it.  The child dies with this process.  Signals
 * that are sent to this process alone are passed on to the child.
 */
#pragma once
#include <stddef.h>

#include "core/err.h"

struct childwork {
	/* Runs in the child, and fills result. */
	int (*run)(void *arg, int parent, void *result, struct err *err);
	/* Runs once in this process, when the child calls childwork_ready or has ended. */
	void (*ready)(void *arg);
	void *arg;
	size_t size; /* of result */
};

/* Called by run, in the child: lets the process that waits call ready. */
void childwork_ready(int parent);
/* Run work in a child.  Returns what work->run returned, and hands over its result and error. */
int childwork_run(const struct childwork *work, void *result, struct err *err);
