/*
 * childwork - run a function in a child process, and wait for its result.
 *
 * Some work enters another user namespace, in which the files of an environment have other owners.
 * This process must go on seeing the real owners, so a child does that work.  The child dies with
 * this process.  Signals that are sent to this process alone are passed on to the child.
 */
#pragma once
#include <stddef.h>

#include "core/err.h"

struct childwork {
	/* Runs in the child, and fills result.  parent is for childwork_ready. */
	int (*run)(void *arg, int parent, void *result, struct err *err);
	/* Runs once in this process, when the child calls childwork_ready or has ended. */
	void (*ready)(void *arg);
	void *arg;
	size_t size; /* of result */
};

/* Make the waiting process call ready.  work->run calls this, in the child. */
void childwork_ready(int parent);
/* Run work in a child.  Returns what work->run returned; result and err are those of the child. */
int childwork_run(const struct childwork *work, void *result, struct err *err);
