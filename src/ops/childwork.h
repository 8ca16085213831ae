/*
 * childwork - runs a function in a child process, and waits for its result.
 *
 * Some work must be done in another user namespace, in which the files of an environment have other
 * owners.  This process must stay in its own user namespace, in which the files have their real
 * owners.  So a child does such work.  The child dies with this process.  A signal that is sent to
 * this process alone is passed on to the child.
 */
#pragma once
#include <stddef.h>

#include "core/err.h"

struct childwork {
	/* Runs in the child, and fills *result.  'parent' is the argument for childwork_ready. */
	int (*run)(void *arg, int parent, void *result, struct err *err);
	/*
	 * Runs once in the parent: when the child calls childwork_ready.  If the child never calls
	 * it, this function runs when the child has ended, or when no child could be started.
	 */
	void (*ready)(void *arg);
	void *arg;
	size_t size; /* size of *result */
};

/* For work->run, in the child: make the parent call work->ready now. */
void childwork_ready(int parent);
/*
 * Run 'work' in a child.  *result and *err get the values that the child has set.  Returns what
 * work->run returned.
 */
int childwork_run(const struct childwork *work, void *result, struct err *err);
