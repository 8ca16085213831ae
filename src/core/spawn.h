/*
 * spawn - starts a program of the system with given standard streams.
 *
 * The program is started from a list of arguments, never by a shell, and with the resource limits
 * that this process had at its start.  The program leads a process group of its own.  The kernel
 * kills the program when this process ends.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

struct spawned {
	pid_t pid;
	int end; /* pidfd, readable when the program has ended; the caller closes it */
};

/*
 * Start the program whose path is 'path'.  argv ends with NULL.  'streams' has the descriptors for
 * the program's stdin, stdout and stderr.  Fails if the program cannot be executed.
 */
int spawn_start(const char *path, const char *const *argv, const int streams[3],
	struct spawned *spawned, struct err *err);
