/*
 * guard - cleans up after a process, even if the process is killed.
 *
 * The process is split in two: a child does the work, and the parent waits for the child.  The
 * parent then ends in the same way as the child: with the same status, or by the same signal.
 * Signals that end a program are passed on to the child.
 */
#pragma once
#include "core/err.h"

/*
 * Split the process in two, and return in the child.  If a signal ends the child, the parent calls
 * the function 'clear' and then ends by the same signal.  The child dies with its parent.
 */
int guard_split(void (*clear)(void *arg), void *arg, struct err *err);
