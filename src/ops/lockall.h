/*
 * lockall - takes every lock of an environment, so that no other process works in it or can begin
 * to.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct lockall {
	int run;    /* ROOT/run, borrowed */
	bool kills; /* end owners and programs; without this, they make lockall_take fail */
	int *locks;
	size_t n, cap;
};

/*
 * Take all locks of run, and wait up to ENV_WAIT_MS until single commands release theirs.  If an
 * owner or a sandbox would have to be ended first, and 'kills' is not set, the result is ERR_BUSY,
 * and the error names it.  On failure no lock is held.
 */
int lockall_take(struct lockall *all, struct err *err);
void lockall_release(struct lockall *all);
