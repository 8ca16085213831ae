/*
 * guardian - a process that answers the traced processes if strata is killed.
 *
 * When a listener is closed, every call of the table fails with ENOSYS.  So the guardian holds the
 * listener too.  When we are gone it answers "go on" to every call, first to those that we had
 * taken, until no process is left.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

/* The range of calls that were taken from the kernel and are not answered. */
struct guardian_taken {
	_Atomic uint64_t oldest, newest;
};

struct guardian {
	pid_t pid;
	int pipe; /* closed when we end */
	struct guardian_taken *taken;
};

#define GUARDIAN_INIT                                                                              \
	{                                                                                          \
		.pipe = -1                                                                         \
	}

/* The sizes are those of the kernel's notifications and answers. */
int guardian_start(struct guardian *guardian, int listener, size_t request_size,
	size_t response_size, struct err *err);
/* End the guardian; leave: let it answer the processes that are still running. */
void guardian_end(struct guardian *guardian, bool leave);
