/*
 * guardian - a process that answers the traced processes if strata is killed.
 *
 * When the listener is closed, every call of the table fails with ENOSYS.  So the guardian holds
 * the listener too.  When strata is gone, the guardian answers "go on" to every call, until no
 * process is left.  It begins with the calls that strata had taken from the kernel.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

/* The range of calls that were taken from the kernel and are not answered yet. */
struct guardian_taken {
	_Atomic uint64_t oldest, newest;
};

struct guardian {
	pid_t pid;
	int pipe; /* closed when strata ends */
	struct guardian_taken *taken;
};

#define GUARDIAN_INIT                                                                              \
	{                                                                                          \
		.pipe = -1                                                                         \
	}

/* Start the guardian.  The sizes are those that this kernel's notifications and answers have. */
int guardian_start(struct guardian *guardian, int listener, size_t request_size,
	size_t response_size, struct err *err);
/*
 * End the guardian.  If leave is set, the guardian stays and answers the processes that are still
 * running.
 */
void guardian_end(struct guardian *guardian, bool leave);
