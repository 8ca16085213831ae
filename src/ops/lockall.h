/*
 * lockall - hold every lock of an environment, so that no process works in it and none can begin
 * to.
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
	bool kills; /* end owners and programs; if not set, they make lockall_take fail */
	int *locks;
	size_t n, cap;
};

/*
 * Take all locks of run, and wait up to ENV_WAIT_MS for single commands to release theirs.  If an
 * owner or a sandbox must be ended first, fails with ERR_BUSY, and the error names it.  On failure
 * no lock is held.
 */
int lockall_take(struct lockall *all, struct err *err);
void lockall_release(struct lockall *all);
