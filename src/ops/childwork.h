/*
 * childwork - runs a function in a child process, and waits for its result.
 *
 * Some work enters another user namespace, in which the files of an environment have other owners.
 * This process must keep its own user namespace and so the real owners.  So a child does such work.
 * The child dies with this process.  A signal that is sent to this process alone is passed on to
 * the child.
 */
#pragma once
#include <stddef.h>

#include "core/err.h"

struct childwork {
	/* Runs in the child, and fills *result.  'parent' is the argument for childwork_ready. */
	int (*run)(void *arg, int parent, void *result, struct err *err);
	/* Runs once in the parent, when the child calls childwork_ready or has ended. */
	void (*ready)(void *arg);
	void *arg;
	size_t size; /* size of result */
};

/* Make the parent call work->ready.  Called by work->run in the child. */
void childwork_ready(int parent);
/* Run work in a child.  Returns what work->run returned; result and err are those of the child. */
int childwork_run(const struct childwork *work, void *result, struct err *err);
