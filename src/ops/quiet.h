/*
 * quiet - nothing works in an environment any more, and nothing begins to.
 *
 * Owners, programs in sandboxes, tournaments and single commands all hold a file in
 * ROOT/run locked, or listen on a socket there.  Who is quiet holds every lock.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct quiet {
	int run;    /* ROOT/run, borrowed */
	bool kills; /* end what runs; else it is ERR_BUSY */
	int *locks;
	size_t n, cap;
};

/*
 * Hold all locks of run.  Single commands are waited for, up to ENV_WAIT_MS; of what can
 * run for long the first is named.  On failure nothing is held.
 */
int quiet_take(struct quiet *quiet, struct err *err);
void quiet_release(struct quiet *quiet);
