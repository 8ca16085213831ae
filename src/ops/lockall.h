/* lockall - takes every lock of an environment, so that no other process can work in it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct lockall {
	int run; /* ROOT/run, borrowed */
	/* end owners and programs; if false, lockall_take fails if an owner or a sandbox runs */
	bool kills;
	int *locks;
	size_t n, cap;
};

/*
 * Take all locks in 'run'.  Wait up to ENV_WAIT_MS until other commands release their locks.  If
 * 'kills' is not set and an owner or a sandbox is running, lockall_take fails with ERR_BUSY and
 * names the workspace.  On failure no lock is held.
 */
int lockall_take(struct lockall *all, struct err *err);
void lockall_release(struct lockall *all);
