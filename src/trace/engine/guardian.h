/*
 * guardian - a process that answers the calls of the traced processes if strata is killed.
 *
 * Without an open listener, every call in the table of syscalls.c fails with ENOSYS.  So the
 * guardian has a copy of strata's listener.  If strata is killed, the guardian allows every call
 * until no traced process is left.  The calls that strata had taken from the kernel are answered
 * first.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

/*
 * The range of ids of calls that were taken from the kernel and have not been answered.  strata and
 * the guardian share this memory.
 */
struct guardian_taken {
	_Atomic uint64_t oldest, newest;
};

struct guardian {
	pid_t pid;
	int pipe; /* strata's end of a pipe; the kernel closes it when strata ends */
	struct guardian_taken *taken;
};

#define GUARDIAN_INIT                                                                              \
	{                                                                                          \
		.pipe = -1                                                                         \
	}

/*
 * Start the guardian.  request_size and response_size are the sizes of this kernel's structs for
 * notifications and answers.
 */
int guardian_start(struct guardian *guardian, int listener, size_t request_size,
	size_t response_size, struct err *err);
/*
 * End the guardian.  If 'leave' is set, traced processes are still running, and the guardian
 * answers their calls until they have ended.
 */
void guardian_end(struct guardian *guardian, bool leave);
