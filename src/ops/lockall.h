/*
 * lockall - hold every lock of an environment, so that nothing runs in it and nothing can start.
 *
 * Owners, programs in sandboxes, tournaments and single commands all hold a lock on a file in
 * ROOT/run, or listen on a socket there.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct lockall {
	int run;    /* ROOT/run, borrowed */
	bool kills; /* end owners and programs; if not set, they lead to ERR_BUSY */
	int *locks;
	size_t n, cap;
};

/*
 * Take all locks of run, and wait up to ENV_WAIT_MS for single commands.  The error names an owner
 * or sandbox that must be ended first.  On failure no lock is held.
 */
int lockall_take(struct lockall *all, struct err *err);
void lockall_release(struct lockall *all);
