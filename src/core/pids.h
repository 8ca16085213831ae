/* pids - the processes that a directory of /proc lists. */
#pragma once
#include "core/err.h"

/*
 * Call the function 'visit' for each process or thread in the directory 'proc', in numeric order.
 * 'proc' is a descriptor of /proc or of /proc/PID/task, and stays open.  A negative result of
 * 'visit' ends the listing and is returned.
 */
int pids_each(int proc, int (*visit)(void *arg, int proc, int pid, struct err *err), void *arg,
	struct err *err);
