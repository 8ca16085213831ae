/* pids - the processes that a directory of /proc lists. */
#pragma once
#include "core/err.h"

/* Visit each process in numeric order; proc is borrowed, negative from visit stops. */
int pids_each(int proc, int (*visit)(void *arg, int proc, int pid, struct err *err), void *arg,
	struct err *err);
